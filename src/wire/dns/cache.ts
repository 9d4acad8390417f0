/**
 * Answers kept for as long as DNS says they may be, within a bound of memory.
 *
 * Promises at most MAX_BYTES (as on the wire) and that the longest unused answers are dropped first.
 */
import type { Clock } from '../../base/clock.ts';

/** An hour: long TTLs are meant for resolvers; a moved MX must not stay unnoticed for a day. */
const MAX_POSITIVE_SECONDS = 3600;
/** Short, because someone who has just published a record checks again soon; the resolver caches for longer. */
const MAX_NEGATIVE_SECONDS = 60;
/** RFC 2308 section 7 allows minutes; with seconds, a short failure stays short. */
const FAILURE_SECONDS = 5;
const MAX_BYTES = 8 * 1024 * 1024;
/** Memory of an entry beyond its bytes. */
const ENTRY_BYTES = 200;

interface Entry<T> {
  value: T;
  expiresAt: number;
  weight: number;
}

export class DnsCache<T extends { kind: string; ttlSeconds?: number; bytes?: number }> {
  readonly #clock: Clock;
  /** Insertion order is order of use: the first is the longest unused. */
  readonly #entries = new Map<string, Entry<T>>();
  #weight = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The answer and the whole seconds it has left. */
  get(key: string): { value: T; secondsLeft: number } | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    const leftMs = entry.expiresAt - this.#clock.steady();
    if (leftMs <= 0) {
      this.#weight -= entry.weight;
      return null;
    }
    this.#entries.set(key, entry);
    return { value: entry.value, secondsLeft: Math.floor(leftMs / 1000) };
  }

  put(key: string, value: T): void {
    const seconds = keepSeconds(value);
    if (seconds <= 0) return;
    this.delete(key);
    const weight = (value.bytes ?? 0) + key.length + ENTRY_BYTES;
    this.#entries.set(key, { value, expiresAt: this.#clock.steady() + seconds * 1000, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= MAX_BYTES) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }

  /** Drops every answer whose key matches. */
  deleteWhere(isMeant: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) {
      if (isMeant(key)) this.delete(key);
    }
  }
}

function keepSeconds(value: { kind: string; ttlSeconds?: number }): number {
  if (value.kind === 'failed') return FAILURE_SECONDS;
  const cap = value.kind === 'found' ? MAX_POSITIVE_SECONDS : MAX_NEGATIVE_SECONDS;
  return Math.min(value.ttlSeconds ?? 0, cap);
}
