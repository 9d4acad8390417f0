/**
 * The queue: brings what is due to its turn, with limits per place and in all, and writes what became of it.
 *
 * Promises that an attempt is marked in the store before anything is dialled, with a future time, so
 * that a crash costs one step of the schedule and never a hot loop; that state, events and webhook calls
 * of an attempt commit together; that memory is bounded whatever waits, because the store keeps the
 * rest; and that one slow or dead destination never holds up another. Fed by accept and, at start and
 * from then on by time, by the store.
 */
import { newId } from '../base/ids.ts';
import type { Recipient } from '../store/rows.ts';
import type {
  CallRef,
  FinishAttempt,
  NewMessage,
  RecipientRef,
  RetryTarget,
} from '../store/store.ts';
import type { Context } from './context.ts';
import { deliver } from './deliver.ts';
import { makeTools } from './deliver-tools.ts';
import type { DeliverOptions } from './deliver-tools.ts';
import type { SiteResult } from './deliver-site.ts';
import { logAttempt } from './journey-log.ts';
import { settle } from './outcome.ts';
import { countAttempt } from './outcome-count.ts';
import { AheadMarks } from './queue-ahead.ts';
import { QueueFeed } from './queue-feed.ts';
import { failByOperator } from './queue-operator.ts';
import { endOfSuppressed } from './queue-suppressed.ts';
import { Room } from './room.ts';
import type { RoomLimits, Seat } from './room.ts';
import { Turns } from './queue-turns.ts';
import { Waiting } from './queue-waiting.ts';
import type { Destination } from './queue-waiting.ts';
import { dueAfterCrash } from './schedule.ts';
import type { Hold, Lane } from './shaping.ts';

/** Where the queue hands the webhook calls that a commit has made. */
export interface CallSink {
  offer(calls: readonly CallRef[]): void;
}

export interface QueueOptions extends DeliverOptions {
  /** In [0, 1); spreads the times of later attempts. */
  random?: () => number;
  room?: RoomLimits;
}

/** How long a claim is ours: longer than the longest attempt. */
const LEASE_MS = 60 * 60_000;
/** How long open sessions get at the end. */
const DRAIN_MS = 20_000;
/**
 * How long the turn of a recipient that was put off is kept, in real time: a long line of them is put off at
 * some hundred a second, which costs a few percent of a core (test/torture/dead-destination).
 */
const HELD_PACE_MS = 150;
/** Wait after the store refused (disk full) before the next claim. */
const STORE_REST_MS = 2_000;

/** With longer lines, what is accepted now waits its turn and is marked when it comes. */
const AHEAD_LINES_MAX = 200;

interface Claim {
  ref: RecipientRef;
  lane: Lane;
  found: SiteResult;
  seat: Seat;
}

export class Queue {
  readonly #ctx: Context;
  readonly #calls: CallSink;
  readonly #random: () => number;
  readonly #owner: string;
  readonly #waiting = new Waiting();
  readonly #ahead = new AheadMarks();
  readonly #turns: Turns;
  readonly #feed: QueueFeed;
  readonly #tools: ReturnType<typeof makeTools>;
  readonly #abort = new AbortController();
  readonly #room: Room;
  #isRunning = false;
  #isResting = false;
  #isPumpDue = false;
  #storeRestsUntil = 0;
  #drained: (() => void) | null = null;

  constructor(ctx: Context, calls: CallSink, options: QueueOptions) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#random = options.random ?? Math.random;
    this.#owner = newId(ctx.clock.now());
    this.#room = new Room(options.room);
    this.#tools = makeTools(ctx, options, this.#room, this.#abort.signal);
    const wake = (): void => this.#wake();
    const fill = (destination: Destination): void => this.#feed.fill(destination);
    const { sites } = this.#tools;
    this.#turns = new Turns({ ctx, sites, waiting: this.#waiting, wake, fill });
    this.#feed = new QueueFeed({
      ctx,
      waiting: this.#waiting,
      ready: (destination) => this.#turns.ready(destination),
    });
  }

  /** Takes over what the store holds: the only process on it, so every lease found is a dead one's. */
  async start(): Promise<void> {
    await this.#ctx.store.releaseLeases(null, this.#ctx.clock.now());
    this.#isRunning = true;
    this.#feed.start();
  }

  /** Begins nothing more; resolves when what is under way has ended, after 20 s at most by force. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#feed.stop();
    const ended = new Promise<void>((resolve) => {
      if (this.#room.taken === 0) resolve();
      else this.#drained = resolve;
    });
    // Real time, not the clock's: a stopping process must end even when a test holds the clock.
    const force = setTimeout(() => this.#abort.abort(), DRAIN_MS);
    await ended;
    clearTimeout(force);
    this.#tools.policyAgent.destroy();
    // Marked by their acceptance, but their turn never came: due at once for the next process.
    const now = this.#ctx.clock.now();
    await Promise.all(this.#ahead.takeAll().map((left) => this.#finish(giveBack(left, now))));
    await this.#tools.sessions.stop();
    await this.#ctx.store.releaseLeases(this.#owner, this.#ctx.clock.now());
  }

  /** Messages that are about to be committed: marks what will be tried at once as begun, in that commit. */
  markAhead(messages: readonly NewMessage[]): void {
    const isIdle = this.#isRunning && !this.#isResting && this.#waiting.size < AHEAD_LINES_MAX;
    if (isIdle) this.#ahead.mark(messages, this.#ctx.clock.now());
  }

  /** Messages that were just committed: due at once. */
  offerAccepted(messages: readonly NewMessage[]): void {
    for (const offered of messages) {
      this.#ahead.keep(offered);
      let isDue = false;
      for (const { id, messageId, domain, nextAttemptAt } of offered.recipients) {
        if (nextAttemptAt === null) continue;
        isDue = true;
        this.#feed.offer({ id, messageId, domain, dueAt: nextAttemptAt });
      }
      if (isDue) this.#tools.messages.offer(offered);
    }
    this.#wake();
  }

  offerCalls(calls: readonly CallRef[]): void {
    if (calls.length > 0) this.#calls.offer(calls);
  }

  /** The kill switch: while resting nothing is begun; what is under way goes on. */
  setResting(isResting: boolean): void {
    this.#isResting = isResting;
    if (!isResting) this.#wake();
  }

  /** Makes waiting recipients due now. Returns how many are, those that were due already among them. */
  async retry(target: RetryTarget): Promise<number> {
    const count = await this.#ctx.store.retryNow(target, this.#ctx.clock.now());
    this.#tools.sessions.forgetRests();
    this.#turns.liftHolds();
    this.#waiting.forgetPlaces();
    this.#feed.again();
    return count;
  }

  /** Gives up waiting recipients, by recipient or message id; not those in an attempt. Returns how many. */
  async fail(id: string): Promise<number> {
    // What was marked ahead but not taken yet must ask the store again.
    this.#ahead.forget();
    const failed = await failByOperator(this.#ctx, id, (r) => this.#waiting.isInAttempt(r));
    for (const calls of failed) this.offerCalls(calls);
    return failed.length;
  }

  /** What is in memory: `queueCounts` of the store has the rest. */
  counts(): { inLines: number; inFlight: number } {
    return { inLines: this.#waiting.size, inFlight: this.#room.taken };
  }

  /** The places that asked for less and rest now: for the operator. */
  holds(): (Hold & { place: string })[] {
    return this.#turns.holds();
  }

  /** Coalesces wakes of one turn of the loop into one look, so that claims go to the store in batches. */
  #wake(): void {
    if (this.#isPumpDue || !this.#isRunning) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    const now = this.#ctx.clock.now();
    if (!this.#isRunning || this.#isResting || now < this.#storeRestsUntil) return;
    const claims: Claim[] = [];
    while (this.#room.isFree) {
      const turn = this.#turns.next(now, this.#room.isFreeForStrangers);
      if (turn === null) break;
      turn.lane.claim();
      const claim = { ...turn, seat: this.#room.take(turn.isStranger) };
      const begun = this.#ahead.take(turn.ref.id, now);
      if (begun === null) claims.push(claim);
      else void this.#run(claim, begun);
    }
    if (claims.length > 0) void this.#begin(claims, now);
    if (this.#waiting.takeMissed()) this.#feed.again();
  }

  async #begin(claims: Claim[], now: number): Promise<void> {
    let begun: Map<string, Recipient>;
    try {
      const attempts = claims.map(({ ref }) => ({
        recipientId: ref.id,
        owner: this.#owner,
        leaseUntil: now + LEASE_MS,
        nextAttemptAt: dueAfterCrash(now),
      }));
      const recipients = await this.#ctx.store.begin(attempts);
      begun = new Map(recipients.map((recipient) => [recipient.id, recipient]));
    } catch (error) {
      this.#storeRests(error);
      for (const claim of claims) this.#end(claim);
      return;
    }
    for (const claim of claims) {
      const recipient = begun.get(claim.ref.id);
      // Not ours any more: ended by the operator, or by a report that came in.
      if (recipient === undefined) this.#end(claim);
      else void this.#run(claim, recipient);
    }
  }

  async #run(claim: Claim, recipient: Recipient): Promise<void> {
    let beganAt = this.#ctx.clock.now();
    const slowAt = setTimeout(() => {
      this.#room.slow(claim.seat);
      this.#wake();
    }, this.#room.limits.slowMs);
    try {
      const mayBegin = (): boolean => {
        beganAt = this.#ctx.clock.now();
        return this.#isRunning;
      };
      const { found, lane } = claim;
      const end = await endOfSuppressed(this.#ctx, recipient);
      const { outcome, signed } =
        end === null
          ? await deliver(this.#tools, recipient, found, lane, mayBegin)
          : { outcome: null, signed: null };
      // A place that rests gives its turn back late: putting off a long line must not crowd out the rest.
      if (outcome?.kind === 'held') setTimeout(() => this.#leave(lane), HELD_PACE_MS);
      else this.#leave(lane);
      if (outcome === null) {
        await this.#finish(end ?? giveBack(recipient, this.#ctx.clock.now()));
      } else {
        const message = signed?.message ?? (await this.#ctx.store.messageById(recipient.messageId));
        if (message === null) throw new Error('the message of a recipient is gone');
        const endedAt = this.#ctx.clock.now();
        const ended = { message, recipient, beganAt, endedAt, outcome };
        const result = await settle(this.#ctx, ended, this.#random());
        await this.#finish(result);
        countAttempt(this.#ctx.metrics, ended, result, lane.limits.name);
        logAttempt(this.#ctx, ended, result);
      }
    } catch (error) {
      this.#ctx.log.error('attempt_failed', {
        recipient_id: recipient.id,
        error,
        hint: 'A fault of the appliance: the recipient is tried again. Please report it.',
      });
    }
    clearTimeout(slowAt);
    this.#forget(claim);
  }

  /** Commits, however long the disk stays full: what a receiver has taken must be known. */
  async #finish(result: FinishAttempt): Promise<void> {
    for (;;) {
      try {
        const { calls } = await this.#ctx.store.finish(result);
        this.offerCalls(calls);
        return;
      } catch (error) {
        this.#storeRests(error);
        if (this.#abort.signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, STORE_REST_MS));
      }
    }
  }

  #storeRests(error: unknown): void {
    const now = this.#ctx.clock.now();
    if (now >= this.#storeRestsUntil) {
      this.#ctx.log.error('queue_rests', {
        error,
        hint: 'The store refused a write. Free space on the disk of data_dir; the queue goes on by itself.',
      });
    }
    this.#storeRestsUntil = now + STORE_REST_MS;
    this.#ctx.clock.at(this.#storeRestsUntil, () => this.#feed.again());
  }

  #leave(lane: Lane): void {
    lane.unclaim();
    this.#turns.noteAnswer(lane);
    this.#wake();
  }

  /** A claim that never became an attempt. */
  #end(claim: Claim): void {
    claim.lane.unclaim();
    this.#forget(claim);
  }

  #forget(claim: Claim): void {
    this.#waiting.release(claim.ref.id);
    this.#room.leave(claim.seat);
    if (this.#room.taken === 0) this.#drained?.();
    this.#wake();
  }
}

/** Claimed, but not begun because the process ends: due at once for the next one. */
function giveBack(recipient: Recipient, now: number): FinishAttempt {
  return {
    recipientId: recipient.id,
    messageId: recipient.messageId,
    accountId: recipient.accountId,
    now,
    status: recipient.status,
    nextAttemptAt: now,
    lastReason: recipient.lastReason,
    delayedAt: recipient.delayedAt,
    attempt: null,
    events: [],
    suppress: null,
  };
}
