/**
 * Attempts that acceptance itself marks as begun, in its own commit: one write less for most mail.
 *
 * Promises what the mark of a claim promises: a future time stands in the store before anything is dialled. A mark is
 * used only while that time lies ahead; after it, and whenever the queue forgets the marks, the recipient is claimed
 * like any other, and after it under the same number. Keeps at most `MARKS_MAX` of them. Cannot fail.
 */
import { PassingMap } from '../../base/passing-map.ts';
import type { Recipient } from '../../store/rows.ts';
import type { NewMessage } from '../../store/journey.ts';
import { dueAfterCrash } from '../outcome/retry-schedule.ts';

/** More than this is not tried at once anyway. */
const MARKS_MAX = 500;
/** A mark this close to its time is not used: the attempt could be found due while it is under way. */
const MARGIN_MS = 5_000;

/** What acceptance marked. */
export interface Mark {
  recipient: Recipient;
  /** False: its time has come too near, and the recipient must be claimed; that is its first attempt all the same. */
  isValid: boolean;
}

export class AcceptedMarks {
  readonly #owner: string;
  readonly #marked = new PassingMap<string, Recipient>();

  /** `owner`: whose queue this is, by the store's rows. */
  constructor(owner: string) {
    this.#owner = owner;
  }

  /** Marks the open recipients of messages that are about to be committed, for as long as there are at most `MARKS_MAX`. */
  mark(messages: readonly NewMessage[], now: number): void {
    let count = this.#marked.size;
    for (const message of messages) {
      const open = message.recipients.filter(({ nextAttemptAt }) => nextAttemptAt !== null);
      count += open.length;
      if (count > MARKS_MAX) return;
      message.owner = this.#owner;
      for (const recipient of open) {
        recipient.attempts += 1;
        recipient.nextAttemptAt = dueAfterCrash(now);
      }
    }
  }

  /** The messages were committed: their marks count from now on. */
  keep({ recipients }: NewMessage): void {
    for (const recipient of recipients) {
      if (recipient.attempts > 0 && recipient.nextAttemptAt !== null) {
        this.#marked.set(recipient.id, recipient);
      }
    }
  }

  /** The recipient when its attempt was marked as begun; the mark is used up. */
  take(id: string, now: number): Mark | null {
    const recipient = this.#marked.take(id);
    if (recipient === undefined) return null;
    return { recipient, isValid: now < (recipient.nextAttemptAt ?? 0) - MARGIN_MS };
  }

  get isEmpty(): boolean {
    return this.#marked.size === 0;
  }

  /** Every mark that was not used, and forgets them: what is left when the process ends. */
  takeAll(): Recipient[] {
    return this.#marked.takeAll();
  }

  /** Recipients that may have ended by another hand: each of them is claimed from the store again. */
  forget(which: (recipient: Recipient) => boolean): void {
    for (const [id, recipient] of this.#marked) if (which(recipient)) this.#marked.take(id);
  }
}
