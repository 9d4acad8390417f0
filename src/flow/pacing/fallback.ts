/**
 * When mail that would go directly goes through the smarthost instead, and when it goes back.
 *
 * Promises that with a configured smarthost a closed port 25 is noticed (several sites could not be reached, none
 * answered) and probed every ten minutes, so that direct delivery resumes by itself; and that mail for a provider which
 * refuses our address, and only that mail, goes through the smarthost for some hours. Without a smarthost it only logs
 * what it sees. Each change is logged once. Everything is in memory: a restart begins with direct delivery.
 */
import { wallTime } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';

/** Sites that must have failed, with no success in between, before port 25 counts as closed. */
const SITES_FOR_CLOSED = 3;
const PROBE_EVERY_MS = 10 * 60_000;
/** How long mail for a provider that refuses us is relayed; doubles when the provider still refuses afterwards. */
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

  /** Whether no site could be reached on port 25. */
  get isPortClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether mail for the site `key` goes through the smarthost now. */
  isRelayed(key: string): boolean {
    return this.#options.hasSmarthost && (this.#isClosed || this.#isRefused(key));
  }

  /** Whether the site `key` is tried directly all the same: one site every ten minutes. True uses this probe up. */
  takeProbe(key: string): boolean {
    const now = this.#options.clock.steady();
    if (!this.#isClosed || now < this.#probeAt || this.#isRefused(key)) return false;
    this.#probeAt = now + PROBE_EVERY_MS;
    return true;
  }

  #isRefused(key: string): boolean {
    const refuser = this.#refusers.get(key);
    return refuser !== undefined && this.#options.clock.steady() < refuser.untilMs;
  }

  /** A host of a site answered on port 25. */
  noteReached(): void {
    this.#silent.clear();
    if (!this.#isClosed) return;
    this.#isClosed = false;
    this.#options.log.info('port_25_open', {});
  }

  /** No host of the site could be connected to. */
  noteSilent(key: string): void {
    if (this.#isClosed) return;
    this.#silent.add(key);
    if (this.#silent.size < SITES_FOR_CLOSED) return;
    this.#isClosed = true;
    this.#probeAt = this.#options.clock.steady() + PROBE_EVERY_MS;
    this.#options.log.error('port_25_closed', {
      hint: this.#options.hasSmarthost
        ? 'No mail host answers on port 25; mail goes through the smarthost until one does. Ask the network for port 25.'
        : 'No mail host answers on port 25. Ask the network to open it (postrider doctor says where), or configure delivery.smarthost.',
    });
  }

  /** The provider of the site refuses our address (reputation). */
  noteRefused(key: string, name: string, reason: string): void {
    if (!this.#options.hasSmarthost) return;
    const before = this.#refusers.get(key);
    const now = this.#options.clock.steady();
    if (before !== undefined && now < before.untilMs) return;
    const times = (before?.times ?? 0) + 1;
    const ms = Math.min(REFUSED_MS * 2 ** (times - 1), REFUSED_LONGEST_MS);
    this.#refusers.set(key, { untilMs: now + ms, times });
    this.#options.log.warn('provider_relayed', {
      provider: name,
      reason,
      until: new Date(wallTime(this.#options.clock, now + ms)).toISOString(),
    });
  }

  /** The site took a message directly: its refusals are over. */
  noteTaken(key: string): void {
    this.#refusers.delete(key);
  }
}
