/**
 * When mail that would go directly goes through the smarthost instead, and when it goes back.
 *
 * Promises that with a configured smarthost a closed port 25 is noticed (several hosts of different
 * places not reachable, none reachable) and probed every ten minutes, so that direct delivery comes
 * back by itself; and that a provider which refuses our address is relayed to for some hours, alone.
 * Without a smarthost it only says what it sees. Says each change once in the log.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

/** Places that must have failed, with no success in between, before port 25 counts as closed. */
const PLACES_FOR_CLOSED = 3;
const PROBE_EVERY_MS = 10 * 60_000;
/** How long a provider that refuses us is relayed to; doubles when it still does. */
const REFUSED_MS = 4 * 60 * 60_000;
const REFUSED_LONGEST_MS = 48 * 60 * 60_000;

export interface FallbackOptions {
  clock: Clock;
  log: Log;
  /** Whether a smarthost is configured beside direct delivery. */
  hasSmarthost: boolean;
}

export class Fallback {
  readonly #options: FallbackOptions;
  readonly #silent = new Set<string>();
  readonly #refusers = new Map<string, { untilMs: number; times: number }>();
  #isClosed = false;
  #probeAt = 0;

  constructor(options: FallbackOptions) {
    this.#options = options;
  }

  /** Whether nothing could be reached on port 25 anywhere. */
  get isPortClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether mail for the place `key` goes through the smarthost now. */
  isRelayed(key: string): boolean {
    return this.#options.hasSmarthost && (this.#isClosed || this.#isRefused(key));
  }

  /** Whether the place `key` is tried directly all the same: one place every ten minutes. Uses the turn up. */
  takeProbe(key: string): boolean {
    const now = this.#options.clock.now();
    if (!this.#isClosed || now < this.#probeAt || this.#isRefused(key)) return false;
    this.#probeAt = now + PROBE_EVERY_MS;
    return true;
  }

  #isRefused(key: string): boolean {
    const refuser = this.#refusers.get(key);
    return refuser !== undefined && this.#options.clock.now() < refuser.untilMs;
  }

  /** A host of the place answered on port 25. */
  noteReached(): void {
    this.#silent.clear();
    if (!this.#isClosed) return;
    this.#isClosed = false;
    this.#options.log.info('port_25_open', {});
  }

  /** No host of the place could be connected to. */
  noteSilent(key: string): void {
    if (this.#isClosed) return;
    this.#silent.add(key);
    if (this.#silent.size < PLACES_FOR_CLOSED) return;
    this.#isClosed = true;
    this.#probeAt = this.#options.clock.now() + PROBE_EVERY_MS;
    this.#silent.clear();
    this.#options.log.error('port_25_closed', {
      hint: this.#options.hasSmarthost
        ? 'No mail host answers on port 25; mail goes through the smarthost until one does. Ask the network for port 25.'
        : 'No mail host answers on port 25. Ask the network to open it (postrider doctor says where), or configure delivery.smarthost.',
    });
  }

  /** The provider of the place refuses our address (reputation). */
  noteRefused(key: string, name: string, reason: string): void {
    if (!this.#options.hasSmarthost) return;
    const before = this.#refusers.get(key);
    const now = this.#options.clock.now();
    if (before !== undefined && now < before.untilMs) return;
    const times = (before?.times ?? 0) + 1;
    const ms = Math.min(REFUSED_MS * 2 ** (times - 1), REFUSED_LONGEST_MS);
    this.#refusers.set(key, { untilMs: now + ms, times });
    this.#options.log.warn('provider_relayed', {
      provider: name,
      reason,
      until: new Date(now + ms).toISOString(),
    });
  }

  /** The place took a message directly: its refusals are over. */
  noteTaken(key: string): void {
    this.#refusers.delete(key);
  }
}
