/**
 * What is due, in memory: per destination a short line, the rest known to be in the store.
 *
 * Promises a bounded number of references whatever waits, each recipient at most once, and that a long
 * line for one destination never takes the place of another's. Knows of each destination whether the
 * store has more than the line shows.
 */
import type { RecipientRef } from '../store/store.ts';
import type { SiteResult } from './deliver-site.ts';
import type { Lane } from './shaping.ts';

/** References held for one destination; further ones stay in the store. */
export const LINE_MAX = 500;
/** A line shorter than this is refilled from the store, when there is more. */
const LINE_LOW = 100;
/** References held in all. */
const TOTAL_MAX = 50_000;

/** Mail for one domain. */
export class Destination {
  readonly domain: string;
  readonly line: RecipientRef[] = [];
  /** The store has due recipients that the line does not hold. */
  hasMore = false;
  /** What was due up to here has been in the line. */
  filledTo: RecipientRef | null = null;
  /** Where its mail goes; null until it is known. */
  place: { lane: Lane; found: SiteResult; until: number } | null = null;
  /** Its hosts are being looked up. */
  isFinding = false;
  /** More of its line is being read. */
  isFilling = false;
  /** It stands in its lane's rotation. */
  isInLane = false;

  constructor(domain: string) {
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
  /** Ids in a line or in an attempt: what the store lists again is not taken twice. */
  readonly #held = new Set<string>();
  readonly #taken = new Set<string>();
  #inLines = 0;
  #hasMissed = false;

  /** References in lines. */
  get size(): number {
    return this.#inLines;
  }

  get isFull(): boolean {
    return this.#inLines >= TOTAL_MAX;
  }

  /** Makes every destination be looked up anew before its next attempt. */
  forgetPlaces(): void {
    for (const { place } of this.#destinations.values()) if (place !== null) place.until = 0;
  }

  /** Puts `ref` into its line, or notes that the store keeps it. Null when nothing is to be done about it. */
  add(ref: RecipientRef): Destination | null {
    if (this.#held.has(ref.id)) return null;
    let destination = this.#destinations.get(ref.domain);
    if (this.isFull) this.#hasMissed = true;
    if (destination === undefined) {
      if (this.isFull) return null;
      destination = new Destination(ref.domain);
      this.#destinations.set(ref.domain, destination);
    }
    if (destination.line.length >= LINE_MAX || this.isFull) {
      destination.hasMore = true;
      return destination;
    }
    destination.line.push(ref);
    this.#held.add(ref.id);
    this.#inLines += 1;
    return destination;
  }

  /** The first of the line, held until `release`. */
  take(destination: Destination): RecipientRef | null {
    const ref = destination.line.shift();
    if (ref === undefined) return null;
    this.#inLines -= 1;
    this.#taken.add(ref.id);
    return ref;
  }

  /** Whether the recipient was taken from its line and not released yet. */
  isInAttempt(id: string): boolean {
    return this.#taken.has(id);
  }

  /** The recipient's attempt has ended, or it was no longer to be tried. */
  release(id: string): void {
    this.#held.delete(id);
    this.#taken.delete(id);
  }

  /** Forgets a destination with nothing in its line and nothing more in the store, when there are many. */
  forget(destination: Destination): void {
    // Kept with its place while few: the next message need not look up its hosts.
    if (this.#destinations.size <= DESTINATIONS_KEPT) return;
    if (destination.line.length > 0 || destination.hasMore) return;
    if (destination.isFinding || destination.isFilling || destination.isInLane) return;
    this.#destinations.delete(destination.domain);
  }

  /** Whether somebody was turned away for want of room since the last call, and there is room again. */
  takeMissed(): boolean {
    if (!this.#hasMissed || this.#inLines > TOTAL_MAX / 2) return false;
    this.#hasMissed = false;
    return true;
  }
}
