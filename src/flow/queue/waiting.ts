/**
 * What is due, in memory: for each destination of an account a short line, and whether the store has more than the line
 * shows.
 *
 * Promises a bounded number of references whatever waits, each recipient at most once, and that a long line leaves
 * capacity for all others: for other destinations, and, however many destinations an account has, for other accounts.
 * Reads and writes nothing; cannot fail.
 */
import { destinationKey } from '../../store/due-choice.ts';
import type { DestinationRef, DueRequest, RecipientRef } from '../../store/journey.ts';
import type { SiteResult } from '../deliver/site.ts';
import type { Lane } from '../pacing/lane.ts';

/** References kept for one destination of an account; further ones stay in the store. */
export const LINE_MAX = 500;
/** Taken from the store in one look, at most, for a destination: the rest is left to its line's next filling. */
export const TAKE_MAX = 100;
/** A line shorter than this is refilled from the store, when there is more. */
const LINE_LOW = 100;
/** References kept in total. */
export const TOTAL_MAX = 50_000;
/**
 * An account may have this many times as many references as there is capacity left: 40,000 alone, 22,222 each of two. So there is
 * always capacity for one that has none ("dynamic thresholds", A. Choudhury and E. Hahne, 1998).
 */
const SHARE = 4;

/** Mail of one account for one domain. */
export class Destination {
  readonly accountId: string;
  readonly domain: string;
  readonly line: RecipientRef[] = [];
  /** The store has due recipients that are not in the line. */
  hasMore = false;
  /** What was due up to here has been in the line. */
  filledTo: RecipientRef | null = null;
  /** Its site, and until when that is used; null until it was looked up. */
  lookup: { lane: Lane; found: SiteResult; until: number } | null = null;
  /** Its site is being looked up. */
  isFinding = false;
  /** More of its line is being read. */
  isFilling = false;
  /** It is in the rotation of its lane. */
  isInLane = false;

  constructor(accountId: string, domain: string) {
    this.accountId = accountId;
    this.domain = domain;
  }

  get isLow(): boolean {
    return this.hasMore && this.line.length < LINE_LOW;
  }
}

/** Destinations remembered without anything in their lines. */
const DESTINATIONS_KEPT = 2_000;

export class Waiting {
  readonly #destinations = new Map<string, Destination>();
  /** References in lines, for each account that has any. */
  readonly #ofAccount = new Map<string, number>();
  /** Accounts of which a reference was turned away. */
  readonly #missed = new Set<string>();
  /** Ids in a line or in an attempt: what the store lists again is not added twice. */
  readonly #known = new Set<string>();
  readonly #taken = new Set<string>();
  #inLines = 0;

  /** References in lines. */
  get size(): number {
    return this.#inLines;
  }

  /** Whether the account has all the capacity that it may have now. */
  isFullFor(accountId: string): boolean {
    return this.#countOf(accountId) >= this.#limit();
  }

  /** Every destination is looked up again before its next attempt. */
  expireLookups(): void {
    for (const { lookup } of this.#destinations.values()) if (lookup !== null) lookup.until = 0;
  }

  /** Puts `ref` into its line, or notes that the store keeps it. Null when there is nothing to do for its destination. */
  add(ref: RecipientRef): Destination | null {
    if (this.#known.has(ref.id)) return null;
    const destination = this.#destinationOf(ref);
    if (destination === null) return null;
    if (destination.line.length >= LINE_MAX || this.isFullFor(ref.accountId)) {
      return leaveInStore(destination, ref);
    }
    destination.line.push(ref);
    this.#known.add(ref.id);
    this.#inLines += 1;
    this.#ofAccount.set(ref.accountId, this.#countOf(ref.accountId) + 1);
    return destination;
  }

  /** Notes that the store keeps `ref`, and maybe more behind it. Null when its account has no capacity for that now. */
  addLeft(ref: RecipientRef): Destination | null {
    const destination = this.#destinationOf(ref);
    return destination === null ? null : leaveInStore(destination, ref);
  }

  /** Whose recipients should not be taken from the store now: there is no capacity for them. */
  full(): DueRequest['without'] {
    const destinations: DestinationRef[] = [];
    for (const { accountId, domain, line } of this.#destinations.values()) {
      if (line.length > LINE_MAX - TAKE_MAX) destinations.push({ accountId, domain });
    }
    const accountIds = [...this.#ofAccount.keys()].filter((id) => this.isFullFor(id));
    return { accountIds, destinations };
  }

  /** The first of the line; it is in an attempt until `release`. */
  take(destination: Destination): RecipientRef | null {
    const ref = destination.line.shift();
    if (ref === undefined) return null;
    this.#inLines -= 1;
    const left = this.#countOf(ref.accountId) - 1;
    if (left > 0) this.#ofAccount.set(ref.accountId, left);
    else this.#ofAccount.delete(ref.accountId);
    this.#taken.add(ref.id);
    return ref;
  }

  /** Whether the recipient was taken from its line and not released yet. */
  isInAttempt(id: string): boolean {
    return this.#taken.has(id);
  }

  /** The recipient's attempt has ended, or it was no longer to be tried. */
  release(id: string): void {
    this.#known.delete(id);
    this.#taken.delete(id);
  }

  /** Forgets a destination with nothing in its line and nothing more in the store, when there are many. */
  forget(destination: Destination): void {
    // While there are few it is kept with its site, so that its next message needs no look-up.
    if (this.#destinations.size <= DESTINATIONS_KEPT) return;
    if (destination.line.length > 0 || destination.hasMore) return;
    if (destination.isFinding || destination.isFilling || destination.isInLane) return;
    this.#destinations.delete(destinationKey(destination));
  }

  /**
   * Whether a reference of an account was turned away for want of capacity since the last call, and the account has
   * much of it again: no more references than there is capacity left.
   */
  takeMissed(): boolean {
    for (const accountId of this.#missed) {
      if (this.#countOf(accountId) > TOTAL_MAX - this.#inLines) continue;
      // The next look brings the references of every account.
      this.#missed.clear();
      return true;
    }
    return false;
  }

  /** Null when it is new and its account has no capacity. */
  #destinationOf({ accountId, domain }: RecipientRef): Destination | null {
    const isFull = this.isFullFor(accountId);
    if (isFull) this.#missed.add(accountId);
    const key = destinationKey({ accountId, domain });
    const known = this.#destinations.get(key);
    if (known !== undefined || isFull) return known ?? null;
    const destination = new Destination(accountId, domain);
    this.#destinations.set(key, destination);
    return destination;
  }

  #countOf(accountId: string): number {
    return this.#ofAccount.get(accountId) ?? 0;
  }

  /** References that one account may have while the lines are as full as they are. */
  #limit(): number {
    return SHARE * (TOTAL_MAX - this.#inLines);
  }
}

function leaveInStore(destination: Destination, ref: RecipientRef): Destination {
  destination.hasMore = true;
  // It lies behind what was read for the line: the line is read anew.
  const { filledTo } = destination;
  if (filledTo !== null && ref.dueAt <= filledTo.dueAt) destination.filledTo = null;
  return destination;
}
