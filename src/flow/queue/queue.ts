/**
 * The queue: every recipient that waits for its next attempt. The story of this folder begins here.
 *
 * Acceptance offers what it has just committed (`accepted-marks.ts`: marked as begun in that very commit), and looks at
 * the store take what is due (`feed.ts`), into one line for each destination of an account (`waiting.ts`). Emails that
 * come one after another begin together (`gathering.ts`). The scheduler picks round robin over accounts (`rotation.ts`),
 * their destinations and lanes; the engine of `due/` marks what was picked as begun, in batches; an attempt
 * (`attempts.ts`) delivers through `deliver/` and commits the result. The operator's actions are in `operator.ts`.
 *
 * Promises that an attempt is marked in the store before anything is dialled, with a future time, so that a crash costs
 * one step of the retry schedule and never makes a hot loop; that memory is bounded whatever waits, because the store
 * keeps the rest; and that one slow or dead destination never delays another. What is in memory is in the store under
 * this queue's id, its owner, but for what was accepted while the lines were long: that is free until it is begun. A
 * crash is safe at every line: before the mark the recipient is due, after it the recipient is due again soon, and what
 * the dead process owned is free from the start of the next. A full disk pauses claims; other faults are logged and
 * tried again.
 */
import type { NewMessage } from '../../store/journey.ts';
import type { RetryTarget } from '../../store/operator.ts';
import type { Recipient } from '../../store/rows.ts';
import { OutdatedError } from '../../store/revision.ts';
import { StoreFullError } from '../../store/store.ts';
import type { CallRef } from '../../store/webhooks.ts';
import type { Context } from '../context.ts';
import { isCurrent, longestLookMs } from '../node-session.ts';
import { makeTools } from '../deliver/parts.ts';
import type { DeliverOptions } from '../deliver/parts.ts';
import { DueWork } from '../due/due-work.ts';
import type { DueFault, Lease } from '../due/due-work.ts';
import { dueAfterCrash } from '../outcome/retry-schedule.ts';
import { Concurrency } from '../pacing/concurrency.ts';
import type { ConcurrencyLimits } from '../pacing/concurrency.ts';
import type { Throttle } from '../pacing/lane.ts';
import { AcceptedMarks } from './accepted-marks.ts';
import { Attempts } from './attempts.ts';
import type { Claim } from './attempts.ts';
import { QueueFeed, READ_HINT } from './feed.ts';
import { Gathering } from './gathering.ts';
import { failByOperator } from './operator.ts';
import { Scheduler } from './scheduler.ts';
import type { MayTake } from './scheduler.ts';
import { Waiting } from './waiting.ts';

const FULL_HINT =
  'The disk is full. Free space on the disk of data_dir; the queue goes on by itself.';
const AWAY_HINT =
  'The database cannot be reached, or has no primary. Look at its server; the queue goes on by itself.';

/** Where the queue hands the webhook calls that a commit has made. */
export interface CallSink {
  offer(calls: readonly CallRef[]): void;
}

export interface QueueOptions extends DeliverOptions {
  /** In [0, 1); spreads the times of later attempts. */
  random?: () => number;
  concurrency?: ConcurrencyLimits;
}

/** How long a claim is ours: longer than the longest attempt. */
const LEASE_MS = 60 * 60_000;
/** How long open sessions get at the end. */
const DRAIN_MS = 20_000;
/** Shortest pause between two looks, so that a stream of due times is read in batches. */
const SHORTEST_LOOK_MS = 250;
/** With longer lines, what is accepted now is not attempted at once: it is marked when it is picked. */
const MARK_LINES_MAX = 400;

export class Queue {
  readonly #ctx: Context;
  readonly #calls: CallSink;
  readonly #waiting = new Waiting();
  readonly #marks: AcceptedMarks;
  readonly #scheduler: Scheduler;
  readonly #feed: QueueFeed;
  readonly #due: DueWork<Claim, Recipient>;
  readonly #attempts: Attempts;
  readonly #tools: ReturnType<typeof makeTools>;
  readonly #abort = new AbortController();
  readonly #concurrency: Concurrency;
  readonly #gathering = new Gathering(() => this.#due.wake());
  #isResting = false;

  constructor(ctx: Context, calls: CallSink, options: QueueOptions) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#concurrency = new Concurrency(options.concurrency);
    this.#tools = makeTools(ctx, options, this.#concurrency, this.#abort.signal);
    const owner = ctx.node?.id ?? ctx.ids.next(ctx.clock.now());
    this.#marks = new AcceptedMarks(owner);
    this.#due = this.#dueWork(owner);
    this.#scheduler = new Scheduler({
      ctx,
      sites: this.#tools.sites,
      waiting: this.#waiting,
      wake: () => this.#due.wake(),
      fill: (destination) => this.#feed.fill(destination),
    });
    this.#feed = new QueueFeed({
      ctx,
      owner,
      waiting: this.#waiting,
      ready: (destination) => this.#scheduler.ready(destination),
      isRunning: () => this.#due.isRunning,
    });
    this.#attempts = this.#makeAttempts(options.random ?? Math.random);
    ctx.revision.onChange(() => this.setResting(ctx.halt.state !== null));
  }

  /** Takes over the waiting recipients of dead owners: all others where this is the only process on the store. */
  async start(): Promise<void> {
    const { store, clock, node } = this.#ctx;
    await store.releaseLeases(null, clock.now());
    this.#due.start();
    node?.onLive(() => this.#scheduler.nodesChanged());
    node?.onFreed(() => {
      this.#lookAnew();
      this.#due.wake();
    });
  }

  /** Begins nothing more; resolves when what is under way has ended, after 20 s at most by force. */
  async stop(): Promise<void> {
    // Real time, not the clock's: a stopping process must end even when a test has stopped the clock.
    const force = setTimeout(() => this.#abort.abort(), DRAIN_MS);
    this.#gathering.stop();
    await this.#due.drain();
    this.#tools.policyAgent.destroy();
    // Marked by their acceptance and never attempted: due at once for the next process.
    await Promise.all(this.#marks.takeAll().map((left) => this.#attempts.giveBack(left)));
    clearTimeout(force);
    await this.#tools.sessions.stop();
    const { store, clock, node } = this.#ctx;
    // A session frees at its end what is its own; the webhooks may still be at work under it.
    if (node === null) await store.releaseLeases(this.#due.owner, clock.now());
  }

  /** Messages that are about to be committed: marks what will be attempted at once as begun, in that commit. */
  markAhead(messages: readonly NewMessage[]): void {
    const mayBegin = this.#due.isRunning && !this.#isResting && isCurrent(this.#ctx);
    if (mayBegin && this.#waiting.size < MARK_LINES_MAX)
      this.#marks.mark(messages, this.#ctx.clock.steady());
  }

  /** Messages that were just committed: due at once. */
  offerAccepted(messages: readonly NewMessage[]): void {
    for (const offered of messages) {
      this.#marks.keep(offered);
      let isDue = false;
      for (const { id, accountId, domain, nextAttemptAt } of offered.recipients) {
        if (nextAttemptAt === null) continue;
        isDue = true;
        this.#feed.offer({ id, accountId, domain, dueAt: nextAttemptAt });
      }
      if (!isDue) continue;
      this.#gathering.noteAccepted();
      this.#tools.messages.offer(offered);
    }
    this.#due.wake();
  }

  offerCalls(calls: readonly CallRef[]): void {
    if (calls.length > 0) this.#calls.offer(calls);
  }

  /** The kill switch: while resting nothing is begun; what is under way goes on. */
  setResting(isResting: boolean): void {
    const wasResting = this.#isResting;
    this.#isResting = isResting;
    if (isResting) return;
    this.#due.wake();
    // What was picked when a halt came is in no line any more.
    if (wasResting) this.#due.lookSoon();
  }

  /** Makes waiting recipients due now. Returns how many are, those that were due already among them. */
  async retry(target: RetryTarget): Promise<number> {
    const count = await this.#ctx.store.retryNow(target, this.#ctx.clock.steady());
    this.#tools.sessions.forgetBackoffs();
    this.#scheduler.liftThrottles();
    this.#waiting.expireLookups();
    this.#lookAnew();
    return count;
  }

  /** Gives up waiting recipients, by recipient or message id; not those in an attempt. Returns how many. */
  async fail(id: string): Promise<number> {
    // Those of them that acceptance marked and that are not picked yet must be claimed from the store again.
    this.#marks.forget((recipient) => recipient.id === id || recipient.messageId === id);
    const failed = await failByOperator(this.#ctx, id, {
      owner: this.#due.owner,
      isInAttempt: (recipientId) => this.#waiting.isInAttempt(recipientId),
    });
    for (const calls of failed) this.offerCalls(calls);
    return failed.length;
  }

  /** An account's recipients may have ended by another hand: none is attempted before the store has been asked again. */
  forgetMarks(accountId: string): void {
    this.#marks.forget((recipient) => recipient.accountId === accountId);
  }

  /** What is in memory: `queueCounts` of the store counts the rest. */
  counts(): { inLines: number; inFlight: number } {
    return { inLines: this.#waiting.size, inFlight: this.#concurrency.taken };
  }

  /** The sites that asked us to slow down, and until when: for the operator. */
  throttles(): (Throttle & { site: string })[] {
    return this.#scheduler.throttles();
  }

  #dueWork(owner: string): DueWork<Claim, Recipient> {
    const { clock } = this.#ctx;
    return new DueWork<Claim, Recipient>({
      clock,
      owner,
      leaseMs: LEASE_MS,
      shortestLookMs: SHORTEST_LOOK_MS,
      longestLookMs: longestLookMs(this.#ctx),
      isCurrent: () => isCurrent(this.#ctx),
      look: () => this.#feed.look(),
      pick: (now) => this.#pick(now),
      idOf: ({ ref }) => ref.id,
      begin: (claims, lease, now) => this.#begin(claims, lease, now),
      run: (claim, recipient) => void this.#attempts.run(claim, recipient),
      release: (claim) => {
        claim.lane.unclaim();
        this.#free(claim);
      },
      forgotten: () => this.#feed.lookAnew(),
      failed: (fault, error) => this.#logFault(fault, error),
    });
  }

  #makeAttempts(random: () => number): Attempts {
    return new Attempts({
      ctx: this.#ctx,
      owner: this.#due.owner,
      tools: this.#tools,
      concurrency: this.#concurrency,
      random,
      mayBegin: () => this.#due.isRunning && isCurrent(this.#ctx),
      signal: this.#abort.signal,
      isAlone: () => this.#concurrency.taken === 1 && this.#waiting.size === 0,
      offerCalls: (calls) => this.#calls.offer(calls),
      laneFreed: (lane) => {
        this.#scheduler.noteAnswer(lane);
        this.#due.wake();
      },
      slowed: ({ accountId }) => {
        this.#scheduler.noteFreed(accountId);
        this.#due.wake();
      },
      signed: () => this.#due.wake(),
      diskFull: (error) => this.#due.pauseForFullDisk(error),
      ended: (claim) => {
        this.#free(claim);
        this.#due.ended();
      },
    });
  }

  get #mayPick(): boolean {
    if (this.#isResting || !this.#concurrency.isFree) return false;
    return this.#concurrency.mayBeSigned(this.#marks.isEmpty);
  }

  /** Picks while there are free slots. What acceptance marked as begun is run at once, without a further write. */
  #pick(now: number): Claim[] {
    const claims: Claim[] = [];
    if (this.#gathering.holds(this.#waiting.size)) return claims;
    const mayTake: MayTake = (...of) => this.#concurrency.mayTake(...of);
    while (this.#mayPick) {
      const picked = this.#scheduler.next(now, this.#concurrency.isFreeForUnproven, mayTake);
      if (picked === null) break;
      const { ref, lane, found } = picked;
      lane.claim();
      const mark = this.#marks.take(ref.id, now);
      const claim = {
        ref,
        isFirst: mark !== null,
        lane,
        found,
        slot: this.#concurrency.take(ref.accountId, picked.isUnproven),
      };
      if (mark?.isValid === true) this.#due.runBegun(claim, mark.recipient);
      else claims.push(claim);
    }
    if (this.#waiting.takeMissed()) this.#lookAnew();
    return claims;
  }

  async #begin(claims: readonly Claim[], lease: Lease, now: number): Promise<Recipient[]> {
    const { clock, metrics, store, revision } = this.#ctx;
    const nextAttemptAt = dueAfterCrash(now);
    const marks = claims.map(({ ref, isFirst }) => ({
      recipientId: ref.id,
      ...lease,
      nextAttemptAt,
      isFirst,
    }));
    for (;;) {
      const from = clock.steady();
      try {
        const begun = await store.begin(marks, now, revision.number);
        metrics.claimSeconds.observe({ step: 'begin' }, (clock.steady() - from) / 1_000);
        return begun;
      } catch (error) {
        if (!(error instanceof OutdatedError)) throw error;
      }
      await revision.check();
      if (!this.#isResting) continue;
      // Halted by another node. They are ours in the store, and found by the look after the halt.
      this.#feed.lookAnew();
      return [];
    }
  }

  #free({ ref, slot }: Claim): void {
    this.#waiting.release(ref.id);
    this.#concurrency.leave(slot);
    this.#scheduler.noteFreed(slot.accountId);
  }

  #lookAnew(): void {
    this.#feed.lookAnew();
    this.#due.lookSoon();
  }

  #logFault(fault: DueFault, error: unknown): void {
    const { log } = this.#ctx;
    if (fault === 'look') {
      log.error('queue_read_failed', { error, hint: READ_HINT });
    } else if (fault === 'full') {
      log.error('queue_paused', {
        error,
        hint: error instanceof StoreFullError ? FULL_HINT : AWAY_HINT,
      });
    } else {
      log.error('claim_failed', {
        error,
        hint: 'A fault of the appliance: the recipients stay queued and are claimed again in a moment. Please report it.',
      });
    }
  }
}
