/**
 * Lanes: how much goes at once, and how fast, to one place (a provider, a set of MX hosts, a smarthost).
 *
 * Promises that no lane has more sessions or a higher rate than its limits; that it begins with few
 * sessions and adds one for each that went well; and that a reply which asks for less slows this lane
 * alone: a pause that doubles with each such reply in a row, then a single session again. What comes due
 * in a pause is put off without being dialled, with the reply and the hint that caused it.
 */
import type { Clock } from '../base/clock.ts';
import type { Provider } from '../base/config.ts';

/** Postfix's initial_destination_concurrency. */
const FIRST_SESSIONS = 5;
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** How much of a minute's rate may go out at once after a quiet time. */
const BURST_SHARE = 1 / 12;
const MINUTE_MS = 60_000;
/** Claims at once, however few sessions there are: what is only put off needs none. */
const CLAIMS_MIN = 20;

/** Why a lane rests, and until when. */
export interface Hold {
  untilMs: number;
  /** One sentence with the reply that caused it. */
  cause: string;
  /** Class of that reply. */
  class: 'rate' | 'reputation';
  hint: string | null;
}

export class Lane {
  readonly key: string;
  readonly limits: Provider;
  readonly #clock: Clock;
  #allowed: number;
  #sessions = 0;
  #claimed = 0;
  #tokens: number;
  #tokensAt: number;
  #hold: Hold | null = null;
  #pauses = 0;
  #hasAnswered = false;
  readonly #turns: (() => void)[] = [];
  #roomWanted: (() => void) | null = null;

  constructor(key: string, limits: Provider, clock: Clock) {
    this.key = key;
    this.limits = limits;
    this.#clock = clock;
    this.#allowed = Math.min(FIRST_SESSIONS, limits.connections);
    this.#tokens = this.#burst;
    this.#tokensAt = clock.now();
  }

  /** How it is called in front of people. */
  get name(): string {
    return this.limits.name === '' ? this.key.replace(/^\w+:/, '') : this.limits.name;
  }

  /** How often in a row it was asked for less, with nothing taken in between. */
  get pausesInRow(): number {
    return this.#pauses;
  }

  /** Whether the place said anything at the last attempt; false while there was none. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get isIdle(): boolean {
    return this.#claimed === 0 && this.#hold === null;
  }

  /**
   * Whether another recipient may be claimed now. A few more than there are sessions, so that the next
   * message is signed when a session gets free; always while it rests, since those are put off at once.
   */
  hasRoom(): boolean {
    if (this.#isFull) return false;
    return this.holdNow() !== null || this.#tokensNow() >= 1;
  }

  /** Calls `wanted` once, when there may be room again. */
  onRoom(wanted: () => void): void {
    this.#roomWanted = wanted;
    if (this.#isFull) return;
    const { messagesPerMinute } = this.limits;
    if (messagesPerMinute === null) return;
    const waitMs = Math.ceil(((1 - this.#tokensNow()) * MINUTE_MS) / messagesPerMinute);
    this.#clock.at(this.#clock.now() + Math.max(waitMs, 1), () => this.#offerRoom());
  }

  claim(): void {
    this.#claimed += 1;
    if (this.holdNow() === null) this.#tokens = this.#tokensNow() - 1;
  }

  /** A claimed recipient has ended, whatever came of it. */
  unclaim(): void {
    this.#claimed -= 1;
    this.#offerRoom();
  }

  /** Waits for the turn to hold a session; first come, first served. */
  enter(): Promise<void> {
    if (this.#sessions < this.#allowed) {
      this.#sessions += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#turns.push(resolve));
  }

  leave(): void {
    this.#sessions -= 1;
    while (this.#sessions < this.#allowed) {
      const next = this.#turns.shift();
      if (next === undefined) return;
      this.#sessions += 1;
      next();
    }
  }

  /** The place took a message or answered for a recipient: it may have one session more. */
  noteAnswer(): void {
    this.#hasAnswered = true;
    if (this.holdNow() !== null) return;
    this.#pauses = 0;
    this.#hold = null;
    if (this.#allowed < this.limits.connections) this.#allowed += 1;
  }

  /** The place could not be reached: fewer sessions, no pause. */
  noteUnreached(): void {
    this.#hasAnswered = false;
    this.#allowed = Math.max(1, this.#allowed >> 1);
  }

  /** The place asks for less. Replies of sessions that were open already do not lengthen the pause. */
  slowDown(reason: Omit<Hold, 'untilMs'>): Hold {
    this.#hasAnswered = true;
    const running = this.holdNow();
    if (running !== null) return running;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
    this.#pauses += 1;
    this.#allowed = 1;
    this.#hold = { ...reason, untilMs: this.#clock.now() + pauseMs };
    return this.#hold;
  }

  /** Why nothing is dialled now; null when it is. */
  holdNow(): Hold | null {
    return this.#hold !== null && this.#clock.now() < this.#hold.untilMs ? this.#hold : null;
  }

  /** Goes on at once: the operator asked for another try. */
  liftHold(): void {
    this.#hold = null;
    this.#offerRoom();
  }

  get #isFull(): boolean {
    return this.#claimed >= Math.max(this.#allowed * 2, CLAIMS_MIN);
  }

  get #burst(): number {
    return Math.max(1, (this.limits.messagesPerMinute ?? 0) * BURST_SHARE);
  }

  #tokensNow(): number {
    const { messagesPerMinute } = this.limits;
    if (messagesPerMinute === null) return 1;
    const now = this.#clock.now();
    const gained = (Math.max(0, now - this.#tokensAt) * messagesPerMinute) / MINUTE_MS;
    this.#tokens = Math.min(this.#tokens + gained, this.#burst);
    this.#tokensAt = now;
    return this.#tokens;
  }

  #offerRoom(): void {
    const wanted = this.#roomWanted;
    this.#roomWanted = null;
    wanted?.();
  }
}
