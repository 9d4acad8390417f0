/**
 * Rate limits over sliding windows: at most N requests in any period of the given length, exactly.
 *
 * Promises that no window ever counts more than its limit, wherever it begins, and that parallel requests cannot exceed
 * it: `take` is one synchronous step. The counts survive a restart (`save`, `load`). Memory is bounded by the limits
 * and by the number of keys used in the last minute.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { SettingStore } from '../store/settings.ts';

export interface RateResult {
  isAllowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the whole limit is free again, at least 1. */
  resetSeconds: number;
  /** Whole seconds until one more request is allowed, at least 1. */
  retrySeconds: number;
}

interface Window {
  windowMs: number;
  /** Times of the requests that count, oldest first, from `first` on. */
  times: number[];
  first: number;
}

const SETTING = 'rate_windows';
const SAVE_EVERY_MS = 5_000;
/** Longest window in use; older times never matter. */
const MAX_WINDOW_MS = 60_000;

/** The sliding windows of all keys and accounts. One per appliance, for the API and SMTP submission. */
export class RateWindows {
  readonly #windows = new Map<string, Window>();
  readonly #clock: Clock;
  readonly #store: SettingStore;
  readonly #log: Log;
  #isChanged = false;
  #cancel: (() => void) | null = null;

  constructor(parts: { clock: Clock; store: SettingStore; log: Log }) {
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#log = parts.log;
  }

  /** Counts one request under `name`, when it is allowed. `limit` per `windowMs` milliseconds. */
  take(name: string, limit: number, windowMs: number): RateResult {
    const now = this.#clock.steady();
    let window = this.#windows.get(name);
    if (window === undefined) {
      window = { windowMs, times: [], first: 0 };
      this.#windows.set(name, window);
    }
    window.windowMs = windowMs;
    expire(window, now);
    const used = window.times.length - window.first;
    const isAllowed = used < limit;
    if (isAllowed) window.times.push(now);
    this.#isChanged ||= isAllowed;
    this.#cancel ??= this.#clock.after(SAVE_EVERY_MS, () => void this.save());
    const newest = window.times.at(-1) ?? now;
    // The request that must leave the window before another one is allowed.
    const blocking = window.times.at(-Math.max(1, limit)) ?? now;
    return {
      isAllowed,
      limit,
      remaining: Math.max(0, limit - used - (isAllowed ? 1 : 0)),
      resetSeconds: seconds(newest + windowMs - now),
      retrySeconds: seconds(blocking + windowMs - now),
    };
  }

  /** Loads what the last process saved. Call before the first `take`. */
  async load(): Promise<void> {
    const text = await this.#store.setting(SETTING);
    if (text === null) return;
    const now = this.#clock.steady();
    for (const [name, windowMs, times] of JSON.parse(text) as [string, number, number[]][]) {
      // Times that lie in the future, of a data directory from elsewhere, would block until then.
      const window = { windowMs, times: times.filter((time) => time <= now), first: 0 };
      expire(window, now);
      if (window.times.length > window.first) this.#windows.set(name, window);
    }
  }

  /** Writes the counts for the next process. Never rejects. Call when the appliance stops. */
  async save(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    const now = this.#clock.steady();
    const rows: [string, number, number[]][] = [];
    for (const [name, window] of this.#windows) {
      expire(window, now);
      if (window.times.length === window.first) this.#windows.delete(name);
      else rows.push([name, window.windowMs, window.times.slice(window.first)]);
    }
    if (!this.#isChanged) return;
    this.#isChanged = false;
    try {
      await this.#store.setSetting(SETTING, rows.length === 0 ? null : JSON.stringify(rows));
    } catch (error) {
      // Requests continue: a limit that forgets a few seconds is better than a refused request.
      this.#log.warn('rate_limits_not_saved', { error });
    }
  }
}

function expire(window: Window, now: number): void {
  const { times } = window;
  const since = now - Math.min(window.windowMs, MAX_WINDOW_MS);
  while (window.first < times.length) {
    const time = times[window.first] ?? 0;
    if (time > since) break;
    window.first += 1;
  }
  if (window.first > 1_000 && window.first * 2 > times.length) {
    window.times = times.slice(window.first);
    window.first = 0;
  }
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
