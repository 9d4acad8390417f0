/**
 * Records `sent` for first attempts that are still under way after a moment (docs/decisions.md D210).
 *
 * Promises that a first attempt which takes long shows `sent`, and has its `email.sent` with its webhook calls, between
 * one and two `ROUND_MS` after its beginning; that the attempts of a round share one commit, and that one which ends
 * sooner costs none, because its outcome records both; and that `email.sent` is raised once for a recipient, also after
 * a crash: its row says `sent` from the commit on. What cannot be written now is written with the outcome. Never throws.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { SentAttempt } from '../../store/journey.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import { StoreUnwritableError } from '../../store/store.ts';
import type { CallRef } from '../../store/webhooks.ts';
import type { Context } from '../context.ts';
import { isFirstSent, sentEvent } from '../outcome/sent.ts';

/** A fast network needs less for an attempt, and nobody who looks at a status notices it. */
const ROUND_MS = 250;

/** An attempt under way. */
export interface SentNote {
  readonly message: Message;
  /** `status` becomes `sent` once that is in the store. */
  readonly recipient: Recipient;
  /** Epoch milliseconds. */
  readonly beganAt: number;
  /** Settles when the recording has ended, well or not; null when it was not begun. */
  recording: Promise<void> | null;
}

export interface SentNotesOptions {
  ctx: Context;
  /** Takes the webhook calls that a commit has made. */
  offerCalls: (calls: readonly CallRef[]) => void;
}

export class SentNotes {
  readonly #options: SentNotesOptions;
  /** Begun in this round. */
  #young = new PassingMap<string, SentNote>();
  /** Begun in the round before: recorded when this one ends. */
  #old = new PassingMap<string, SentNote>();
  #isArmed = false;

  constructor(options: SentNotesOptions) {
    this.#options = options;
  }

  /** The message is signed and its host is dialled now. `end` must follow. */
  begin(message: Message, recipient: Recipient, beganAt: number): SentNote {
    const note: SentNote = { message, recipient, beganAt, recording: null };
    this.#young.set(recipient.id, note);
    this.#arm();
    return note;
  }

  /** The attempt has ended: resolves when nothing is being recorded for it any more. */
  async end(note: SentNote | null): Promise<void> {
    if (note === null) return;
    if (this.#young.take(note.recipient.id) === undefined) this.#old.take(note.recipient.id);
    if (note.recording !== null) await note.recording;
  }

  /** One timer for all, however many begin and end: a round lasts as long as the clock says, without looking at it. */
  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#options.ctx.clock.after(ROUND_MS, () => {
      this.#isArmed = false;
      const notes = this.#old.takeAll();
      this.#old = this.#young;
      this.#young = new PassingMap();
      if (this.#old.size > 0) this.#arm();
      if (notes.length === 0) return;
      const recording = this.#record(notes);
      for (const note of notes) note.recording = recording;
    });
  }

  async #record(notes: readonly SentNote[]): Promise<void> {
    const { ctx, offerCalls } = this.#options;
    try {
      const first: SentNote[] = [];
      for (const note of notes) if (await isFirstSent(ctx, note.recipient)) first.push(note);
      if (first.length === 0) return;
      const attempts = first.map((note) => sentAttempt(ctx, note));
      const calls = await ctx.store.noteSent(attempts);
      ctx.followers.tell(attempts.map(({ event }) => event));
      for (const { recipient } of first) recipient.status = 'sent';
      if (calls.length > 0) offerCalls(calls);
    } catch (error) {
      // A full disk is reported where it stops the queue.
      if (error instanceof StoreUnwritableError) return;
      ctx.log.error('sent_not_recorded', {
        error,
        hint: 'A fault of the appliance: the status becomes `sent` with the outcome of the attempt only. Please report it.',
      });
    }
  }
}

function sentAttempt(ctx: Context, { message, recipient, beganAt }: SentNote): SentAttempt {
  return {
    recipientId: recipient.id,
    messageId: message.id,
    accountId: message.accountId,
    now: ctx.clock.now(),
    dueAt: ctx.clock.steady(),
    event: sentEvent(ctx, message, recipient, beganAt),
  };
}
