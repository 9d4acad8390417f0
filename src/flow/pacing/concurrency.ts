/**
 * How many attempts may be under way: in total, and to unproven sites (those that have not answered lately).
 *
 * Promises that sites which accept connections and stay silent, however many, leave a share of the capacity to sites
 * that answer; that an attempt which takes long lets another begin beside it, within bounds; that one account, however
 * many destinations it has mail for, leaves capacity to the others; and that while very many
 * unproven sites are being tried, none of them is waited for as long as a single one would be. Only counts: it never
 * opens a connection and cannot fail.
 */
import { FairShare } from './fair-share.ts';

export interface ConcurrencyLimits {
  /** Attempts under way: sessions, and messages signed ahead of them. */
  attempts: number;
  /** An attempt that takes longer than this, in milliseconds, is slow: another may begin beside it. */
  slowMs: number;
  /** Only so many slow attempts are left out of the count, because each keeps a session open. */
  slowMax: number;
  /** Part of `attempts` that only sites which have answered may use. */
  reserved: number;
  /** Attempts to unproven sites from which on they count as a crowd. */
  crowd: number;
  /**
   * In a crowd, the longest wait for an unproven site's connection, and again for its greeting. RFC 5321 section
   * 4.5.3.2.1 asks for five minutes for the greeting, and each site gets them when there is no crowd.
   */
  crowdWaitMs: number;
  /**
   * Attempts whose message is still to be signed: the work of the signing thread for 10 to 20 ms. Another one
   * would only wait there, and what it keeps in memory would outlive a collection of young objects.
   */
  unsigned: number;
}

const PRODUCTION: ConcurrencyLimits = {
  attempts: 1_000,
  slowMs: 1_000,
  slowMax: 2_000,
  reserved: 250,
  crowd: 1_500,
  crowdWaitMs: 10_000,
  unsigned: 32,
};

/** A commit marks more attempts than are signed meanwhile: commits are few, and the signing thread is never without work. */
const BATCH_FACTOR = 8;

/** What one attempt takes of the capacity. */
export interface Slot {
  accountId: string;
  isUnproven: boolean;
  isSlow: boolean;
  /** Its message is signed, or no work for the signing thread yet. */
  isSigned: boolean;
}

export class Concurrency {
  readonly limits: ConcurrencyLimits;
  #taken = 0;
  #slow = 0;
  #unproven = 0;
  #unsigned = 0;
  readonly #shares = new FairShare();
  readonly #slowShares = new FairShare();

  constructor(limits: ConcurrencyLimits = PRODUCTION) {
    this.limits = limits;
  }

  /** Attempts under way, slow ones included. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether an attempt to a site that has answered may begin. */
  get isFree(): boolean {
    return this.#counted < this.limits.attempts;
  }

  /** Whether one more message may wait for its signature; `needsCommit`: its attempt is marked as begun before. */
  mayBeSigned(needsCommit: boolean): boolean {
    return this.#unsigned < this.limits.unsigned * (needsCommit ? BATCH_FACTOR : 1);
  }

  /** Whether an attempt to an unproven site may begin. */
  get isFreeForUnproven(): boolean {
    return this.#counted < this.limits.attempts - this.limits.reserved;
  }

  /** Whether so many unproven sites are being tried that each is waited for less. */
  get isCrowded(): boolean {
    return this.#unproven >= this.limits.crowd;
  }

  /** Whether an attempt of this account may begin: it leaves enough of what is free to the others. */
  mayTake(accountId: string, isUnproven: boolean): boolean {
    const limit = this.limits.attempts - (isUnproven ? this.limits.reserved : 0);
    // Of the slow attempts that are left out of the count, each account has its part.
    const isLeftOut = this.#slow === 0 ? 0 : Math.min(1, this.limits.slowMax / this.#slow);
    const counted =
      this.#shares.of(accountId) - Math.floor(this.#slowShares.of(accountId) * isLeftOut);
    return this.#shares.leavesEnough(counted, limit - this.#counted);
  }

  /** Takes a slot; `leave` must follow. */
  take(accountId: string, isUnproven: boolean): Slot {
    this.#taken += 1;
    this.#shares.take(accountId);
    if (isUnproven) this.#unproven += 1;
    this.#unsigned += 1;
    return { accountId, isUnproven, isSlow: false, isSigned: false };
  }

  /** The signing thread has no more to do for the attempt, or not before memory is free. */
  signed(slot: Slot): void {
    if (slot.isSigned) return;
    slot.isSigned = true;
    this.#unsigned -= 1;
  }

  /** The attempt takes long. Call at most once for a slot. */
  slow(slot: Slot): void {
    slot.isSlow = true;
    this.#slow += 1;
    this.#slowShares.take(slot.accountId);
  }

  leave(slot: Slot): void {
    this.signed(slot);
    this.#taken -= 1;
    this.#shares.giveBack(slot.accountId);
    if (slot.isUnproven) this.#unproven -= 1;
    if (!slot.isSlow) return;
    this.#slow -= 1;
    this.#slowShares.giveBack(slot.accountId);
  }

  get #counted(): number {
    return this.#taken - Math.min(this.#slow, this.limits.slowMax);
  }
}
