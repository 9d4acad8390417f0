/**
 * The dispatcher: takes webhook calls that are due, signs and posts them, records every attempt.
 *
 * Promises ten attempts over about three hours for every call that is not acknowledged, the same id and
 * bytes on each, and that a dead, slow or hostile endpoint delays nobody else's calls. Holds only
 * references in memory, a bounded number; the rest waits in the store. Never follows an endpoint into
 * the operator's network (wire/guarded-agent). A crash repeats at most the calls in flight.
 */
import { ApiError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Call, CallAttempt } from '../store/rows.ts';
import type { CallRef } from '../store/store.ts';
import type { PostResult } from '../wire/https-post.ts';
import type { Context } from './context.ts';
import type { EndpointWatcher } from './endpoints.ts';
import { logCall } from './journey-log.ts';
import { endTurn, judge, Lanes, takeTurn } from './webhooks-lanes.ts';
import { CallPoster, errorOf, RECEIPT_TIMEOUT_MS } from './webhooks-post.ts';
import { isAcknowledged, verdict, waitMs } from './webhooks-schedule.ts';

/** Failures in a row that disable an endpoint (interface, Delivery rules). */
const DISABLE_AFTER = 20;
/** Calls in flight over all endpoints: far above what healthy ones need, far below the descriptor limit. */
const MAX_CLAIMED = 1_024;
/** References read from the store at once. */
const PAGE = 1_000;
/** A claim that outlives this belongs to a process that is gone: window times timeout, with room. */
const LEASE_MS = 90_000;
/** The store is looked at no less often: a wall clock that jumps moves due times. */
const LONGEST_SLEEP_MS = 60_000;
const PAUSE_AFTER_FAULT_MS = 5_000;
const PAUSE_WHEN_FULL_MS = 1_000;

export interface DispatcherOptions {
  /** Time for everything of one post; default: the interface's 10 s. */
  timeoutMs?: number;
  /** In [0, 1): the jitter of waits. */
  random?: () => number;
}

/** What a test call came to (decisions, Webhooks). `error` never repeats what the endpoint answered. */
export interface TestResult {
  id: string;
  ok: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

export class WebhookDispatcher implements EndpointWatcher {
  readonly #ctx: Context;
  readonly #owner: string;
  readonly #random: () => number;
  readonly #poster: CallPoster;
  readonly #lanes = new Lanes();
  readonly #inFlight = new Set<Promise<void>>();
  #claimed = 0;
  #isRunning = false;
  #isPumpArmed = false;
  #look: Promise<void> | null = null;
  #mayLookAgain = false;
  #wake: { at: number; cancel: () => void } | null = null;

  /** Throws `OperatorError` when the extra CA can not be read. */
  constructor(ctx: Context, options: DispatcherOptions = {}) {
    this.#ctx = ctx;
    this.#owner = newId(ctx.clock.now());
    this.#random = options.random ?? Math.random;
    this.#poster = new CallPoster(ctx, options.timeoutMs ?? RECEIPT_TIMEOUT_MS);
  }

  /** Begins with what the store holds. Call once. */
  start(): void {
    this.#isRunning = true;
    this.#lookSoon();
  }

  /** Takes no new call; resolves when those being posted have ended (10 s at most) and are recorded. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#wake?.cancel();
    await this.#look;
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
    this.#poster.close();
    await this.#ctx.store.releaseLeases(this.#owner, this.#ctx.clock.now());
  }

  /** Takes calls that a commit has just made; never blocks, never throws. */
  offer(calls: readonly CallRef[]): void {
    if (!this.#isRunning || calls.length === 0) return;
    const now = this.#ctx.clock.now();
    for (const ref of calls) {
      if (ref.dueAt <= now) this.#lanes.add(ref);
      else this.#wakeAt(ref.dueAt);
    }
    this.#pumpSoon();
  }

  /** Forgets what it knows of the endpoint and looks for its open calls: after any change of its row. */
  endpointChanged(endpointId: string): void {
    this.#poster.forget(endpointId);
    this.#lookSoon();
  }

  /**
   * Posts a signed `webhook.test` and records it as an attempt; counts for nothing and works for a disabled
   * endpoint too. Throws `not_found`.
   */
  async test(accountId: string, endpointId: string): Promise<TestResult> {
    const { clock, store } = this.#ctx;
    const endpoint = await store.endpoint(accountId, endpointId);
    if (endpoint === null) {
      throw new ApiError('not_found', 'There is no such webhook endpoint in this account.');
    }
    const createdAt = clock.now();
    const id = newId(createdAt);
    const created_at = new Date(createdAt).toISOString();
    const body = JSON.stringify({
      type: 'webhook.test',
      created_at,
      data: { webhook_id: endpointId },
    });
    const result = await this.#poster.post(endpointId, id, body);
    const attempt: CallAttempt = {
      ...recordOf(result, clock.now()),
      callId: null,
      endpointId,
      eventType: 'webhook.test',
      messageId: null,
      attempt: 1,
      createdAt,
    };
    await store.recordTestCall(attempt);
    const { ok, statusCode, error } = attempt;
    return { id, ok, statusCode, durationMs: result.durationMs, error };
  }

  /** Claims in the next turn of the loop, so that what many commits offer is begun in one. */
  #pumpSoon(): void {
    if (this.#isPumpArmed) return;
    this.#isPumpArmed = true;
    setImmediate(() => {
      this.#isPumpArmed = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (!this.#isRunning) return;
    const refs = this.#lanes.claim(MAX_CLAIMED - this.#claimed);
    this.#claimed += refs.length;
    if (refs.length > 0) this.#track(this.#begin(refs));
    if (this.#lanes.isHungry()) this.#lookSoon();
  }

  #track(work: Promise<void>): void {
    this.#inFlight.add(work);
    void work.finally(() => this.#inFlight.delete(work));
  }

  async #begin(refs: readonly CallRef[]): Promise<void> {
    const now = this.#ctx.clock.now();
    const mark = {
      owner: this.#owner,
      leaseUntil: now + LEASE_MS,
      // What a crash in the attempt costs: one step of the schedule, never a hot loop.
      nextAttemptAt: now + waitMs(1, this.#random()),
    };
    let calls: Call[] = [];
    try {
      calls = await this.#ctx.store.beginCalls(refs.map(({ id }) => ({ id, ...mark })));
    } catch (error) {
      this.#reportFault('begin', error);
    }
    const begun = new Set(calls.map(({ id }) => id));
    // Ended, disabled or taken by another process in the meantime.
    for (const ref of refs) if (!begun.has(ref.id)) this.#release(ref);
    for (const call of calls) this.#track(this.#attempt(call));
    this.#pumpSoon();
  }

  async #attempt(call: Call): Promise<void> {
    let isOvertaken = false;
    try {
      const beganAt = this.#ctx.clock.now();
      const result = await this.#postInTurn(call);
      if (result !== null) isOvertaken = await this.#finish(call, result, beganAt);
    } catch (error) {
      // The lease ends by itself; then the call is tried again under the same id.
      this.#reportFault('finish', error);
    } finally {
      this.#release(call);
      // Replayed while it was in flight: it was known then, and so not taken a second time.
      if (isOvertaken) this.#lookSoon();
      else this.#pumpSoon();
    }
  }

  /** Null when the dispatcher was stopped before the call had its turn. */
  async #postInTurn(call: Call): Promise<PostResult | null> {
    const lane = this.#lanes.lane(call.endpointId);
    await takeTurn(lane);
    try {
      if (!this.#isRunning) return null;
      const result = await this.#poster.post(call.endpointId, call.eventId, call.body);
      // Want of sockets here is not the endpoint's failure; the attempt is not counted against it.
      if (result.kind === 'failed' && result.isLocal) throw new Error(result.reason);
      judge(lane, isAcknowledged(result));
      return result;
    } finally {
      endTurn(lane);
    }
  }

  /** Whether the call was opened anew in the meantime. */
  async #finish(call: Call, result: PostResult, createdAt: number): Promise<boolean> {
    const { clock, store, log, metrics } = this.#ctx;
    const now = clock.now();
    metrics.callSeconds.observe(result.durationMs / 1000, { result: wordFor(result) });
    const { status, nextAttemptAt } = verdict(result, call.attempts, now, this.#random());
    const attempt: CallAttempt = {
      ...recordOf(result, now),
      callId: call.id,
      endpointId: call.endpointId,
      eventType: call.eventType,
      messageId: call.messageId,
      attempt: call.attempts,
      createdAt,
    };
    const end = { call, attempt, status, nextAttemptAt, disableAfter: DISABLE_AFTER };
    const { endpointStatus, isOvertaken } = await store.finishCall(end);
    logCall(this.#ctx, call, attempt, nextAttemptAt);
    if (endpointStatus === 'disabled') {
      this.#lanes.drop(call.endpointId);
      log.warn('webhook_endpoint_disabled', { endpoint: call.endpointId, reason: attempt.error });
    } else if (nextAttemptAt !== null) {
      this.#wakeAt(nextAttemptAt);
    }
    return isOvertaken;
  }

  #release(ref: { id: string; endpointId: string }): void {
    this.#claimed -= 1;
    this.#lanes.release(ref);
  }

  #reportFault(step: string, error: unknown): void {
    this.#ctx.log.error('webhook_dispatch_failed', {
      step,
      error,
      hint: 'Check the disk of data_dir and the limit of open files; calls stay and are tried again.',
    });
    this.#wakeAt(this.#ctx.clock.now() + PAUSE_AFTER_FAULT_MS);
  }

  #wakeAt(at: number): void {
    if (!this.#isRunning || (this.#wake !== null && this.#wake.at <= at)) return;
    this.#wake?.cancel();
    const cancel = this.#ctx.clock.at(at, () => {
      this.#wake = null;
      this.#lookSoon();
    });
    this.#wake = { at, cancel };
  }

  /** Reads what is due; asked again while it reads, it reads once more. */
  #lookSoon(): void {
    if (!this.#isRunning) return;
    this.#mayLookAgain = true;
    this.#look ??= this.#lookAll().finally(() => (this.#look = null));
  }

  async #lookAll(): Promise<void> {
    while (this.#mayLookAgain && this.#isRunning) {
      this.#mayLookAgain = false;
      try {
        await this.#lookOnce();
      } catch (error) {
        this.#reportFault('look', error);
      }
    }
  }

  async #lookOnce(): Promise<void> {
    const { clock, store } = this.#ctx;
    const now = clock.now();
    for (let isMore = true; isMore && this.#isRunning && !this.#lanes.isFull;) {
      const leftOut = this.#lanes.beginLook();
      // What is here already may come again: the page must be longer than that, or nothing new is seen.
      const limit = PAGE + this.#lanes.countKnownOfLowLanes();
      const refs = await store.callsDue(now, now, limit, leftOut);
      const added = refs.filter((ref) => this.#lanes.add(ref)).length;
      this.#pump();
      isMore = refs.length >= limit && added > 0;
    }
    const next = await store.nextCallDue(now);
    const sleepMs = this.#lanes.isFull ? PAUSE_WHEN_FULL_MS : LONGEST_SLEEP_MS;
    this.#wakeAt(Math.min(next ?? Infinity, now + sleepMs));
  }
}

/** For the metrics: a short list of words. */
function wordFor(result: PostResult): string {
  if (isAcknowledged(result)) return 'acknowledged';
  if (result.kind === 'answered') return 'answered';
  return result.isRefused ? 'refused' : 'failed';
}

function recordOf(
  result: PostResult,
  now: number,
): Pick<CallAttempt, 'id' | 'statusCode' | 'ok' | 'error' | 'durationMs'> {
  return {
    id: newId(now),
    statusCode: result.kind === 'answered' ? result.statusCode : null,
    ok: isAcknowledged(result),
    error: errorOf(result),
    durationMs: result.durationMs,
  };
}

/**
 * Opens calls again, with the same event id and bytes: one event, or every failed or missed one since a
 * time (epoch milliseconds). Returns how many. Throws `not_found`.
 */
export async function replayCalls(
  ctx: Context,
  dispatcher: Pick<WebhookDispatcher, 'offer'> | null,
  accountId: string,
  endpointId: string,
  what: { eventId: string } | { failedSince: number },
): Promise<number> {
  if ((await ctx.store.endpoint(accountId, endpointId)) === null) {
    throw new ApiError('not_found', 'There is no such webhook endpoint in this account.');
  }
  const calls = await ctx.store.replayCalls(accountId, endpointId, what, ctx.clock.now());
  dispatcher?.offer(calls);
  return calls.length;
}
