/**
 * A lane: how many sessions, and how many messages a minute, go to one site (a provider, a set of MX hosts, a
 * smarthost). The story of this folder begins here.
 *
 * The queue asks a lane for capacity, claims, and when the message is signed `enter`s to use a session; deliver tells
 * the lane what the site answered. `provider-limits.ts` says what each provider accepts, `concurrency.ts` counts
 * attempts over all lanes, `fallback.ts` decides when a smarthost replaces direct delivery.
 *
 * Promises that no lane has more sessions or a higher rate than its limits; that it starts with few sessions and adds
 * one for each answer; and that a reply which asks us to slow down throttles this lane alone: a pause that doubles with
 * each such reply in a row, then one session. What comes due during the pause is deferred without being dialled, with
 * the reply and the hint that caused it. Where several nodes share a limit, each has its part of it, at least one session;
 * nobody hands parts on, so what one does not use stays unused. Everything is in memory: after a crash each lane starts anew, with few sessions.
 */
import type { Clock } from '../../base/clock.ts';
import type { Provider } from '../../base/config.ts';

/** Postfix's initial_destination_concurrency. */
const FIRST_SESSIONS = 5;
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** How much of a minute's rate may go out at once after a quiet time. */
const BURST_SHARE = 1 / 12;
const MINUTE_MS = 60_000;
/** Claims at once, however few sessions there are: what is only deferred needs no session. */
const CLAIMS_MIN = 20;

/** Why a lane is throttled, and until when. */
export interface Throttle {
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
  readonly #sharers: () => number;
  #allowed: number;
  #sessions = 0;
  #claimed = 0;
  #tokens: number;
  #tokensAt: number;
  #throttle: Throttle | null = null;
  #pauses = 0;
  #hasAnswered = false;
  /** Those that wait for a session, in the order of asking. */
  readonly #entrants: (() => void)[] = [];
  #capacityWanted: (() => void) | null = null;

  /** `sharers`: among how many nodes the limits are divided now, at least 1. */
  constructor(key: string, limits: Provider, clock: Clock, sharers: () => number = () => 1) {
    this.key = key;
    this.limits = limits;
    this.#clock = clock;
    this.#sharers = sharers;
    this.#allowed = Math.min(FIRST_SESSIONS, limits.connections);
    this.#tokens = this.#burst;
    this.#tokensAt = clock.steady();
  }

  /** The site's name for people: the provider's, else its mail hosts. Not for metrics: it is not from a fixed list. */
  get name(): string {
    return this.limits.name === '' ? this.key.replace(/^\w+:/, '') : this.limits.name;
  }

  /** How many replies in a row asked us to slow down, with no answer of another kind between their pauses. */
  get pausesInRow(): number {
    return this.#pauses;
  }

  /** Whether the site said anything at the last attempt; false while there was none. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get isIdle(): boolean {
    return this.#claimed === 0 && this.#throttle === null;
  }

  /**
   * Whether another recipient may be claimed now. A few more may be claimed than there are sessions, so that the next
   * message is signed when a session gets free; while the lane is throttled rate does not count, because what is
   * claimed then is deferred at once.
   */
  hasCapacity(): boolean {
    if (this.#isFull) return false;
    return this.throttleNow() !== null || this.#tokensNow() >= 1;
  }

  /** Calls `wanted` once, when there may be capacity again. */
  onCapacity(wanted: () => void): void {
    this.#capacityWanted = wanted;
    if (this.#isFull) return;
    const perMinute = this.#perMinute;
    if (perMinute === null) return;
    const waitMs = Math.ceil(((1 - this.#tokensNow()) * MINUTE_MS) / perMinute);
    this.#clock.after(Math.max(waitMs, 1), () => this.#offerCapacity());
  }

  claim(): void {
    this.#claimed += 1;
    if (this.throttleNow() === null) this.#tokens = this.#tokensNow() - 1;
  }

  /** A claimed recipient has ended, with whatever outcome. */
  unclaim(): void {
    this.#claimed -= 1;
    this.#offerCapacity();
  }

  /** Resolves when a session may be used; first come, first served. `leave` must follow. */
  enter(): Promise<void> {
    if (this.#sessions < this.#allowedNow) {
      this.#sessions += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#entrants.push(resolve));
  }

  leave(): void {
    this.#sessions -= 1;
    this.#admit();
  }

  /** Lets waiting callers in, as far as sessions are allowed. */
  #admit(): void {
    while (this.#sessions < this.#allowedNow) {
      const next = this.#entrants.shift();
      if (next === undefined) return;
      this.#sessions += 1;
      next();
    }
  }

  /** The number of sharers is another: what waits asks again. */
  sharersChanged(): void {
    this.#admit();
    this.#offerCapacity();
  }

  /** The site took a message or answered for a recipient: one more session is allowed. */
  noteAnswer(): void {
    this.#hasAnswered = true;
    if (this.throttleNow() !== null) return;
    this.#pauses = 0;
    this.#throttle = null;
    if (this.#allowed >= this.#connections) return;
    this.#allowed += 1;
    // At once: whoever asks next would overtake those that wait.
    this.#admit();
  }

  /** The site could not be reached: half the sessions, no pause. */
  noteUnreached(): void {
    this.#hasAnswered = false;
    this.#allowed = Math.max(1, this.#allowedNow >> 1);
  }

  /** The site asked us to slow down. Such replies in sessions that were already open do not lengthen the pause. */
  slowDown(reason: Omit<Throttle, 'untilMs'>): Throttle {
    this.#hasAnswered = true;
    const running = this.throttleNow();
    if (running !== null) return running;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
    this.#pauses += 1;
    this.#allowed = 1;
    this.#throttle = { ...reason, untilMs: this.#clock.steady() + pauseMs };
    return this.#throttle;
  }

  /** Why nothing is dialled now; null when it is. */
  throttleNow(): Throttle | null {
    return this.#throttle !== null && this.#clock.steady() < this.#throttle.untilMs
      ? this.#throttle
      : null;
  }

  /** Ends the pause at once: the operator asked for another try. */
  liftThrottle(): void {
    this.#throttle = null;
    this.#offerCapacity();
  }

  get #isFull(): boolean {
    return this.#claimed >= Math.max(this.#allowedNow * 2, CLAIMS_MIN);
  }

  /** This node's part of the sessions. */
  get #connections(): number {
    return Math.max(1, Math.floor(this.limits.connections / this.#sharers()));
  }

  /** `#allowed` was reached among fewer sharers, it may be. */
  get #allowedNow(): number {
    return Math.min(this.#allowed, this.#connections);
  }

  /** This node's part of the rate; it may be less than one. */
  get #perMinute(): number | null {
    const { messagesPerMinute } = this.limits;
    return messagesPerMinute === null ? null : messagesPerMinute / this.#sharers();
  }

  get #burst(): number {
    return Math.max(1, (this.#perMinute ?? 0) * BURST_SHARE);
  }

  #tokensNow(): number {
    const perMinute = this.#perMinute;
    if (perMinute === null) return 1;
    const now = this.#clock.steady();
    const gained = (Math.max(0, now - this.#tokensAt) * perMinute) / MINUTE_MS;
    this.#tokens = Math.min(this.#tokens + gained, this.#burst);
    this.#tokensAt = now;
    return this.#tokens;
  }

  #offerCapacity(): void {
    const wanted = this.#capacityWanted;
    this.#capacityWanted = null;
    wanted?.();
  }
}
