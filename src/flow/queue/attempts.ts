/**
 * One attempt of a claimed recipient, from the claim to the commit of its result.
 *
 * Promises that state, events and webhook calls of an attempt commit together, however long the disk stays full; that a
 * fault of ours is logged as what it is and puts the recipient back by the retry schedule, so that it is neither lost
 * nor tried in a hot loop; and that lane and slot are given back whatever happens. Never throws.
 */
import type { FinishAttempt, RecipientRef } from '../../store/journey.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import { StoreUnwritableError } from '../../store/store.ts';
import type { CallRef } from '../../store/webhooks.ts';
import type { Context } from '../context.ts';
import { deliver } from '../deliver/deliver.ts';
import type { DeliverTools } from '../deliver/deliver.ts';
import type { SiteResult } from '../deliver/site.ts';
import { FULL_PAUSE_MS } from '../due/due-work.ts';
import { logAttempt } from '../journey-log.ts';
import { countAttempt } from '../outcome/count.ts';
import type { Outcome } from '../outcome/kinds.ts';
import { settle } from '../outcome/outcome.ts';
import { waitAfter } from '../outcome/retry-schedule.ts';
import type { Concurrency, Slot } from '../pacing/concurrency.ts';
import type { Lane } from '../pacing/lane.ts';
import { endOf } from '../recipient-end.ts';
import { SentNotes } from './sent-notes.ts';
import type { SentNote } from './sent-notes.ts';
import { endOfSuppressed } from './suppressed.ts';

/**
 * How long a recipient that was only deferred keeps its claim on a throttled lane, in real time: a long line is deferred
 * at some sixty a second, which costs a few percent of a core (test/torture/dead-destination). Marks of acceptance
 * (`accepted-marks.ts`) are used up within ten seconds at this rate, before they lapse.
 */
const THROTTLED_PACE_MS = 300;

/** A recipient that was picked, with what it keeps until it ends. */
export interface Claim {
  ref: RecipientRef;
  /** Its acceptance marked it as begun, too long ago to be used: it is begun again, as its first attempt. */
  isFirst: boolean;
  lane: Lane;
  found: SiteResult;
  slot: Slot;
}

export interface AttemptsOptions {
  ctx: Context;
  /** Whose attempts these are, by the store's rows. */
  owner: string;
  tools: DeliverTools;
  concurrency: Concurrency;
  /** In [0, 1). */
  random: () => number;
  /** False from the moment the queue is stopped, and while what it owns may be another's. */
  mayBegin: () => boolean;
  /** Aborted when open sessions end by force. */
  signal: AbortSignal;
  /** Whether one attempt is under way and no recipient is in line for one. */
  isAlone: () => boolean;
  /** Takes the webhook calls that a commit has made. */
  offerCalls: (calls: readonly CallRef[]) => void;
  /** The lane has capacity again, and its site may have answered. */
  laneFreed: (lane: Lane) => void;
  /** The attempt takes long: another may begin beside it. */
  slowed: (slot: Slot) => void;
  /** The message of an attempt is signed, or waits for memory: another attempt may begin. */
  signed: () => void;
  diskFull: (error: StoreUnwritableError) => void;
  /** The claim has ended. */
  ended: (claim: Claim) => void;
}

/** An attempt that has its outcome. `message`: null where it was not read for it. */
interface Talked {
  recipient: Recipient;
  beganAt: number;
  outcome: Outcome;
  message: Message | null;
}

export class Attempts {
  readonly #options: AttemptsOptions;

  readonly #sent: SentNotes;

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#sent = new SentNotes(options);
  }

  /** Attempts delivery of `recipient`, in the state after the mark of its beginning. */
  async run(claim: Claim, recipient: Recipient): Promise<void> {
    const { ctx, tools, concurrency, mayBegin } = this.#options;
    let beganAt = ctx.clock.now();
    let isInLane = true;
    let note: SentNote | null = null;
    // Where others take over what a lost node had, a session serves one message whose end is not known there.
    const kept: (() => void)[] | null = ctx.node === null ? null : [];
    const slowAt = setTimeout(() => this.#slow(claim), concurrency.limits.slowMs);
    try {
      const steps = {
        mayBegin: (): boolean => {
          beganAt = ctx.clock.now();
          return mayBegin();
        },
        made: (): void => {
          if (claim.slot.isSigned) return;
          concurrency.signed(claim.slot);
          this.#options.signed();
        },
        begun: (message: Message): void => {
          note = this.#sent.begin(message, recipient, beganAt);
        },
        over: kept === null ? null : (giveBack: () => void): void => void kept.push(giveBack),
      };
      const suppressed = await endOfSuppressed(ctx, recipient);
      const { outcome, signed } =
        suppressed === null
          ? await deliver(tools, recipient, claim.found, claim.lane, steps)
          : { outcome: null, signed: null };
      isInLane = false;
      steps.made();
      this.#leaveLane(claim.lane, outcome);
      await this.#sent.end(note);
      if (outcome === null) {
        await this.#commit(suppressed ?? unbegun(ctx, recipient));
      } else {
        await this.#conclude({ recipient, beganAt, outcome, message: signed?.message ?? null });
      }
    } catch (error) {
      if (isInLane) this.#leaveLane(claim.lane, null);
      await this.#sent.end(note);
      await this.#putBack(recipient, error);
    }
    clearTimeout(slowAt);
    if (kept !== null) for (const giveBack of kept) giveBack();
    this.#options.ended(claim);
  }

  /** Commits what an attempt came to. A message that went with its account meanwhile has no end. */
  async #conclude({ recipient, beganAt, outcome, ...known }: Talked): Promise<void> {
    const { ctx, random } = this.#options;
    const message = known.message ?? (await ctx.store.messageById(recipient.messageId));
    if (message === null) return;
    const [endedAt, steadyAt] = [ctx.clock.now(), ctx.clock.steady()];
    const ended = { message, recipient, beganAt, endedAt, steadyAt, outcome };
    const end = await settle(ctx, ended, random());
    if (!(await this.#commit(end))) return;
    countAttempt(ctx.metrics, ended, end);
    logAttempt(ctx, ended, end);
  }

  /** Puts back a recipient that was marked as begun and never attempted. */
  async giveBack(recipient: Recipient): Promise<void> {
    try {
      await this.#commit(unbegun(this.#options.ctx, recipient));
    } catch (error) {
      this.#logNotPutBack(recipient, error);
    }
  }

  /**
   * Commits an end, however long the disk stays full: what a receiver has taken must be known. False when the process
   * ended first, or when another owner has taken the recipient over. Rejects with any other fault of the store.
   *
   * An outcome may wait for the next write where no attempt can begin without one: a crash repeats at most one message
   * of a session then too (docs/decisions.md D502).
   */
  async #commit(end: FinishAttempt): Promise<boolean> {
    const { ctx, owner, isAlone, offerCalls, diskFull, signal } = this.#options;
    for (;;) {
      try {
        const { calls, isOvertaken } = await ctx.store.finish({ ...end, owner }, isAlone());
        if (isOvertaken) {
          this.#logOvertaken(end);
          return false;
        }
        ctx.followers.tell(end.events);
        if (calls.length > 0) offerCalls(calls);
        return true;
      } catch (error) {
        if (!(error instanceof StoreUnwritableError)) throw error;
        diskFull(error);
        if (signal.aborted) return false;
        // Real time, not the clock's: the disk does not follow a test's clock.
        await new Promise((resolve) => setTimeout(resolve, FULL_PAUSE_MS));
      }
    }
  }

  #logOvertaken({ recipientId, messageId, attempt }: FinishAttempt): void {
    this.#options.ctx.log.warn('attempt_overtaken', {
      recipient_id: recipientId,
      message_id: messageId,
      outcome: attempt?.outcome ?? null,
      reply: attempt?.reply ?? null,
      hint: 'Another process has taken this recipient over in the meantime, and what it finds counts. The message may arrive twice, with the same Message-ID.',
    });
  }

  #slow({ slot }: Claim): void {
    this.#options.concurrency.slow(slot);
    this.#options.slowed(slot);
  }

  /** A throttled lane gets its claim back late: deferring a long line must not crowd out other lanes. */
  #leaveLane(lane: Lane, outcome: Outcome | null): void {
    if (outcome?.kind === 'throttled') setTimeout(() => this.#unclaim(lane), THROTTLED_PACE_MS);
    else this.#unclaim(lane);
  }

  #unclaim(lane: Lane): void {
    lane.unclaim();
    this.#options.laneFreed(lane);
  }

  async #putBack(recipient: Recipient, error: unknown): Promise<void> {
    const { ctx } = this.#options;
    ctx.log.error('attempt_failed', {
      recipient_id: recipient.id,
      error,
      hint: 'A fault of the appliance: the recipient is tried again by the retry schedule. Please report it.',
    });
    const nextAttemptAt = ctx.clock.steady() + waitAfter(recipient.attempts);
    try {
      await this.#commit(endOf(recipient, ctx.clock.now(), { nextAttemptAt }));
    } catch (again) {
      this.#logNotPutBack(recipient, again);
    }
  }

  #logNotPutBack(recipient: Recipient, error: unknown): void {
    this.#options.ctx.log.error('recipient_not_put_back', {
      recipient_id: recipient.id,
      error,
      hint: 'A fault of the appliance: the recipient is tried again when its claim has run out, in about an hour. Please report it.',
    });
  }
}

/** Claimed, but not begun because the process ends: due at once for the next process. */
function unbegun({ clock }: Pick<Context, 'clock'>, recipient: Recipient): FinishAttempt {
  return endOf(recipient, clock.now(), { nextAttemptAt: clock.steady(), isUnbegun: true });
}
