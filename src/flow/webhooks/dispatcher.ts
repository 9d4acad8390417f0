/**
 * The dispatcher: every webhook call that waits for its next attempt. The story of this folder begins here.
 *
 * A commit that records an event makes a call for each endpoint that subscribed to it (`endpoints.ts`), and offers it
 * here; looks at the store bring what is due later. Calls wait in a queue for each endpoint (`endpoint-queues.ts`); the
 * engine of `due/` marks them as begun, in batches; each is signed (`signing.ts`) and posted (`post.ts`), and its
 * attempt is recorded with its next time (`schedule.ts`).
 *
 * Promises ten attempts over about three hours for every call that is not acknowledged, the same id and bytes on each,
 * and that a dead, slow or hostile endpoint delays no other endpoint's calls. Keeps only references in memory, a
 * bounded number; the rest waits in the store. Never follows an endpoint into the operator's network
 * (wire/https/guarded-agent). A crash is safe at every line and repeats at most the calls in flight, under their ids.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { ApiError } from '../../base/errors.ts';
import { idTime } from '../../base/ids.ts';
import type { Call, CallAttempt } from '../../store/rows.ts';
import { StoreUnwritableError } from '../../store/store.ts';
import type { CallRef, FinishCall, ReplayedCalls, WebhookStore } from '../../store/webhooks.ts';
import type { PostResult } from '../../wire/https/post.ts';
import type { Context } from '../context.ts';
import { DueWork, FULL_PAUSE_MS } from '../due/due-work.ts';
import type { DueFault, Lease } from '../due/due-work.ts';
import { logCall } from '../journey-log.ts';
import { isCurrent, longestLookMs } from '../node-session.ts';
import type { EndpointWatcher } from './endpoints.ts';
import { endPost, EndpointQueues, MOST_OF_ONE, noteResult, startPost } from './endpoint-queues.ts';
import { CallPoster, errorOf, RECEIPT_TIMEOUT_MS } from './post.ts';
import { isAcknowledged, nextStep, waitMs } from './schedule.ts';

/** Failures in a row that disable an endpoint (docs/contract.md C12.8). */
const DISABLE_AFTER = 20;
/** Calls in flight over all endpoints: far above what healthy ones need, far below the descriptor limit. */
const MAX_CLAIMED = 1_024;
/** References read from the store at once: some milliseconds of this thread. */
const PAGE = 1_000;
/** A look rests for so many times as long as it took: it walks over as many endpoints as have open calls. */
const REST = 4;
/** A claim older than this belongs to a process that is gone: window times timeout, and some more. */
const LEASE_MS = 90_000;
/** The pause before the next look while no more references can be kept. */
const PAUSE_WHEN_FULL_MS = 1_000;
/** When a test that was refused for want of a free slot may be tried again: a post takes 10 s at most. */
const TEST_RETRY_SECONDS = 10;

export interface DispatcherOptions {
  /** Time for everything of one post; default: the 10 s of docs/contract.md C13.7. */
  timeoutMs?: number;
  /** In [0, 1): the jitter of waits. */
  random?: () => number;
}

/**
 * What a test call came to (docs/decisions.md D65). `error` never repeats what the endpoint answered; `response`, its
 * first words, is for the dashboard alone.
 */
export interface TestResult {
  id: string;
  ok: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  response: string | null;
}

export class WebhookDispatcher implements EndpointWatcher {
  readonly #ctx: Context;
  readonly #random: () => number;
  readonly #poster: CallPoster;
  readonly #queues = new EndpointQueues();
  readonly #due: DueWork<CallRef, Call>;
  /** The endpoint with which the last look ended, because no more references could be kept. */
  #resumeAfter: string | null = null;

  /** Throws `OperatorError` when the extra CA cannot be read. */
  constructor(ctx: Context, options: DispatcherOptions = {}) {
    this.#ctx = ctx;
    this.#random = options.random ?? Math.random;
    this.#poster = new CallPoster(ctx, options.timeoutMs ?? RECEIPT_TIMEOUT_MS);
    this.#due = new DueWork<CallRef, Call>({
      clock: ctx.clock,
      owner: ctx.node?.id ?? ctx.ids.next(ctx.clock.now()),
      leaseMs: LEASE_MS,
      shortestLookMs: 0,
      longestLookMs: longestLookMs(ctx),
      rest: REST,
      isCurrent: () => isCurrent(ctx),
      look: () => this.#look(),
      pick: () => this.#pick(),
      idOf: ({ id }) => id,
      begin: (refs, lease, now) => this.#begin(refs, lease, now),
      run: (_, call) => void this.#attempt(call),
      release: (ref) => this.#queues.release(ref),
      // A look at the store has no position: it finds them by itself.
      forgotten: () => undefined,
      failed: (fault, error) => this.#logFault(fault, error),
    });
  }

  /** Begins with the calls in the store. Call once. */
  start(): void {
    this.#due.start();
    this.#ctx.node?.onFreed(() => {
      this.#due.lookSoon();
      this.#due.wake();
    });
  }

  /** Takes no new call; resolves when those being posted have ended (10 s at most) and are recorded. */
  async stop(): Promise<void> {
    await this.#due.drain();
    this.#poster.close();
    const { store, clock, node } = this.#ctx;
    // A session frees at its end what is its own; the queue may still be at work under it.
    if (node === null) await store.releaseLeases(this.#due.owner, clock.now());
  }

  /** Takes calls that a commit has just made, which are due at once; never blocks, never throws. */
  offer(calls: readonly CallRef[]): void {
    if (!this.#due.isRunning || calls.length === 0) return;
    for (const ref of calls) this.#queues.add(ref);
    this.#due.wake();
  }

  /** Forgets what it knows of the endpoint and looks for its open calls: after any change of its row. */
  endpointChanged(endpointId: string): void {
    this.#poster.forget(endpointId);
    this.#due.lookSoon();
  }

  /**
   * Posts a signed `webhook.test`, in the queue of the endpoint like its calls, and records it as an attempt; counts
   * for nothing and works for a disabled endpoint too. Throws `not_found`, or `rate_limited` while several wait.
   */
  async test(accountId: string, endpointId: string): Promise<TestResult> {
    const { clock, store } = this.#ctx;
    const endpoint = await store.endpoint(accountId, endpointId);
    if (endpoint === null) {
      throw new ApiError('not_found', 'There is no such webhook endpoint in this account.');
    }
    const now = clock.now();
    const id = this.#ctx.ids.next(now);
    const created_at = new Date(now).toISOString();
    const body = JSON.stringify({
      type: 'webhook.test',
      created_at,
      data: { webhook_id: endpointId },
    });
    const result = await this.#postTest(endpointId, id, body);
    const attempt: CallAttempt = {
      ...recordOf(this.#ctx, result),
      callId: null,
      endpointId,
      eventType: 'webhook.test',
      messageId: null,
      attempt: 1,
    };
    await store.recordTestCall(attempt);
    const { ok, statusCode, error } = attempt;
    const response = result.kind === 'responded' ? result.excerpt : null;
    return { id, ok, statusCode, durationMs: result.durationMs, error, response };
  }

  async #postTest(endpointId: string, id: string, body: string): Promise<PostResult> {
    const queue = this.#queues.beginTest(endpointId);
    if (queue === null) {
      throw new ApiError('rate_limited', 'Other tests are under way. Try again when they ended.', {
        headers: { 'Retry-After': String(TEST_RETRY_SECONDS) },
      });
    }
    await startPost(queue);
    try {
      return await this.#poster.post(endpointId, id, body);
    } finally {
      endPost(queue);
      this.#queues.endTest(queue);
    }
  }

  #pick(): CallRef[] {
    const refs = this.#queues.claim(MAX_CLAIMED - this.#due.inFlight);
    if (this.#queues.needsRefill()) this.#due.lookSoon();
    return refs;
  }

  #begin(refs: readonly CallRef[], lease: Lease, now: number): Promise<Call[]> {
    // What a crash in the attempt costs: one step of the schedule, never a hot loop.
    const nextAttemptAt = now + waitMs(1, this.#random());
    const claims = refs.map(({ id }) => ({ id, ...lease, nextAttemptAt }));
    return this.#ctx.store.beginCalls(claims, now);
  }

  async #attempt(call: Call): Promise<void> {
    let isOvertaken = false;
    try {
      const result = await this.#postInOrder(call);
      if (result !== null) isOvertaken = await this.#finish(call, result);
    } catch (error) {
      // The lease expires; then the call is tried again under the same id.
      this.#logFault('finish', error);
    } finally {
      this.#queues.release(call);
      // Replayed while it was in flight: it was known then, and so not added a second time.
      if (isOvertaken) this.#due.lookSoon();
      this.#due.ended();
    }
  }

  /** Null when the dispatcher was stopped, or may have lost the call, before it could be posted. */
  async #postInOrder(call: Call): Promise<PostResult | null> {
    const queue = this.#queues.of(call.endpointId);
    await startPost(queue);
    try {
      if (!this.#due.isRunning || !isCurrent(this.#ctx)) return null;
      const result = await this.#poster.post(call.endpointId, call.eventId, call.body);
      // Our own shortage of sockets is not the endpoint's failure: the attempt does not count against it.
      if (result.kind === 'failed' && result.isLocal) throw new Error(result.reason);
      noteResult(queue, isAcknowledged(result));
      return result;
    } finally {
      endPost(queue);
    }
  }

  /** Whether the call was opened anew in the meantime. */
  async #finish(call: Call, result: PostResult): Promise<boolean> {
    const { clock, log, metrics } = this.#ctx;
    const now = clock.steady();
    metrics.callSeconds.observe({ result: wordFor(result) }, result.durationMs / 1000);
    const { status, nextAttemptAt } = nextStep(result, call.attempts, now, this.#random());
    const attempt: CallAttempt = {
      ...recordOf(this.#ctx, result),
      callId: call.id,
      endpointId: call.endpointId,
      eventType: call.eventType,
      messageId: call.messageId,
      attempt: call.attempts,
    };
    const response = result.kind === 'responded' ? result.excerpt : null;
    const end = { call, attempt, status, nextAttemptAt, response, disableAfter: DISABLE_AFTER };
    const { endpointStatus, isOvertaken } = await this.#record(end);
    logCall(this.#ctx, call, attempt, nextAttemptAt);
    if (endpointStatus === 'disabled') {
      this.#queues.drop(call.endpointId);
      log.warn('webhook_endpoint_disabled', { endpoint: call.endpointId, reason: attempt.error });
    } else if (nextAttemptAt !== null) {
      this.#due.lookBy(nextAttemptAt);
    }
    return isOvertaken;
  }

  /** What an endpoint has got must be known: a full disk is waited for, until the process ends. */
  async #record(end: FinishCall): ReturnType<WebhookStore['finishCall']> {
    for (;;) {
      try {
        return await this.#ctx.store.finishCall(end);
      } catch (error) {
        if (!(error instanceof StoreUnwritableError) || !this.#due.isRunning) throw error;
        this.#due.pauseForFullDisk(error);
        // Real time, not the clock's: the disk does not follow a test's clock.
        await new Promise((resolve) => setTimeout(resolve, FULL_PAUSE_MS));
      }
    }
  }

  #logFault(step: DueFault | 'finish', error: unknown): void {
    this.#ctx.log.error('webhook_dispatch_failed', {
      step,
      error,
      hint: 'Check the disk of data_dir and the limit of open files; calls stay and are tried again.',
    });
  }

  /** A walk over the endpoints with open calls, from the one where the last look had to end. */
  async #look(): Promise<number | null> {
    const { clock, store } = this.#ctx;
    const now = clock.steady();
    const without = this.#queues.beginLook();
    const begin = this.#resumeAfter;
    let nextAt = Infinity;
    let after = begin;
    do {
      const look = { now, until: now, most: MOST_OF_ONE, limit: PAGE, after, without };
      const found = await store.callsDue(look);
      for (const ref of found.calls) this.#queues.add(ref);
      this.#due.wake();
      nextAt = Math.min(nextAt, found.nextAt ?? Infinity);
      after = found.last;
      if (after !== null) await nextTick();
    } while (after !== null && this.#due.isRunning && !this.#queues.isFull);
    this.#resumeAfter = after;
    if (this.#queues.isFull) return Math.min(nextAt, now + PAUSE_WHEN_FULL_MS);
    // Those before `begin` were not asked.
    if (begin !== null) this.#due.lookSoon();
    return nextAt === Infinity ? null : nextAt;
  }
}

/** For the metrics: a short list of words. */
function wordFor(result: PostResult): string {
  if (isAcknowledged(result)) return 'acknowledged';
  if (result.kind === 'responded') return 'answered';
  return result.isRefused ? 'refused' : 'failed';
}

/** The record of an attempt that has just ended. Its id and the time shown agree, so that lists are newest first by both. */
function recordOf(
  { ids, clock }: Pick<Context, 'ids' | 'clock'>,
  result: PostResult,
): Pick<CallAttempt, 'id' | 'createdAt' | 'statusCode' | 'ok' | 'error' | 'durationMs'> {
  const id = ids.next(clock.now());
  return {
    id,
    createdAt: idTime(id),
    statusCode: result.kind === 'responded' ? result.statusCode : null,
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
  const now = ctx.clock.steady();
  let count = 0;
  // A step at a time: others' writes wait for one. What a step opens may fail again meanwhile, and is not opened twice.
  for (let from: typeof what | null = what; from !== null;) {
    const { calls, next }: ReplayedCalls = await ctx.store.replayCalls(
      accountId,
      endpointId,
      from,
      now,
    );
    dispatcher?.offer(calls);
    count += calls.length;
    from = next;
  }
  return count;
}
