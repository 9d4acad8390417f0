/**
 * How many attempts may be under way: in all, and with places that have not answered lately.
 *
 * Promises that places which take connections and say nothing, however many, leave a part of the room to
 * those that answer, and soon make room for each other: an attempt that takes long lets another begin
 * beside it, within bounds, and in a crowd of strangers none of them is waited for as long as alone. Plain
 * counting; never talks to anybody.
 */

export interface RoomLimits {
  /** Attempts under way: sessions, and messages signed ahead of them. */
  attempts: number;
  /** An attempt that takes longer than this, in milliseconds, makes room for another. */
  slowMs: number;
  /** Only so many of them, because each holds a session. */
  slowMax: number;
  /** Part of `attempts` that is kept for places that have answered. */
  reserved: number;
  /** Strangers under way from which on they are a crowd. */
  crowd: number;
  /**
   * In a crowd, how long to wait for a stranger's connection, and again for its greeting. RFC 5321 section
   * 4.5.3.2.1 wants five minutes for the greeting, and each gets them when there is no crowd.
   */
  hurriedMs: number;
}

const PRODUCTION: RoomLimits = {
  attempts: 1_000,
  slowMs: 1_000,
  slowMax: 2_000,
  reserved: 250,
  crowd: 1_500,
  hurriedMs: 10_000,
};

/** One attempt's part of the room. */
export interface Seat {
  isStranger: boolean;
  isSlow: boolean;
}

export class Room {
  readonly limits: RoomLimits;
  #taken = 0;
  #slow = 0;
  #strangers = 0;

  constructor(limits: RoomLimits = PRODUCTION) {
    this.limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  /** For a place that has answered. */
  get isFree(): boolean {
    return this.#counted < this.limits.attempts;
  }

  get isFreeForStrangers(): boolean {
    return this.#counted < this.limits.attempts - this.limits.reserved;
  }

  /** Whether so many strangers are under way that each gets less patience. */
  get isCrowded(): boolean {
    return this.#strangers >= this.limits.crowd;
  }

  take(isStranger: boolean): Seat {
    this.#taken += 1;
    if (isStranger) this.#strangers += 1;
    return { isStranger, isSlow: false };
  }

  /** The attempt takes long. */
  slow(seat: Seat): void {
    seat.isSlow = true;
    this.#slow += 1;
  }

  leave(seat: Seat): void {
    this.#taken -= 1;
    if (seat.isStranger) this.#strangers -= 1;
    if (seat.isSlow) this.#slow -= 1;
  }

  get #counted(): number {
    return this.#taken - Math.min(this.#slow, this.limits.slowMax);
  }
}
