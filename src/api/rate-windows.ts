/**
 * Rate limits over sliding windows: at most N requests in any period of the given length, exactly.
 *
 * Promises that no window ever counts more than its limit, wherever it begins, and that parallel requests cannot exceed
 * it: `take` is one synchronous step. The counts survive a restart (`save`, `load`). Memory is bounded by the limits
 * and by the number of keys used in the last minute. Nodes on one store tell each other eight times a second what they let
 * through, and each counts it: what comes to several at the same moment may pass a limit for that long.
 */
import { randomUUID } from 'node:crypto';

import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { HeardTakes, RateStore, Takes } from '../store/rates.ts';
import type { SettingStore } from '../store/settings.ts';
import { StoreUnwritableError } from '../store/store.ts';

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
/** docs/decisions.md D395. */
const TELL_EVERY_MS = 125;
/** What was told while the one before was on its way is heard by the next one. */
const OVERLAP_MS = 2_000;
/** Longest window in use; older times never matter. */
const MAX_WINDOW_MS = 60_000;

/** The sliding windows of all keys and accounts. One per appliance, for the API and SMTP submission. */
export class RateWindows {
  readonly #windows = new Map<string, Window>();
  readonly #clock: Clock;
  readonly #store: SettingStore & RateStore;
  readonly #log: Log;
  #isChanged = false;
  /** Null: no other node counts. */
  #others: Others | null = null;
  #cancel: (() => void) | null = null;

  constructor(parts: { clock: Clock; store: SettingStore & RateStore; log: Log }) {
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
    if (isAllowed) {
      window.times.push(now);
      this.#others?.note(name, windowMs);
    }
    this.#isChanged ||= isAllowed;
    const everyMs = this.#others === null ? SAVE_EVERY_MS : TELL_EVERY_MS;
    this.#cancel ??= this.#clock.after(everyMs, () => void this.save());
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

  /** Loads what the last process saved, or what other nodes have counted. Call before the first `take`. */
  async load(): Promise<void> {
    this.#others = await Others.find(this.#store, this.#clock.steady(), (heard) =>
      this.#add(heard),
    );
    if (this.#others !== null) return;
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

  /** Writes the counts for the next process, and tells other nodes. Never rejects. Call when the appliance stops. */
  async save(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    const now = this.#clock.steady();
    const rows = this.#rows(now);
    try {
      if (this.#others === null) await this.#save(rows);
      else await this.#others.tell(now);
    } catch (error) {
      // Requests continue: a limit that forgets a few seconds is better than a refused request.
      if (this.#others !== null && error instanceof StoreUnwritableError) return;
      this.#log.warn('rate_limits_not_saved', { error });
    }
  }

  /** Counts what another node let through. */
  #add({ at, windows }: Takes): void {
    const now = this.#clock.steady();
    for (const [name, windowMs, count] of windows) {
      const window = this.#windows.get(name) ?? { windowMs, times: [], first: 0 };
      expire(window, now);
      if (at <= now - windowMs) continue;
      this.#windows.set(name, window);
      // The clocks of two machines may differ a little.
      const time = Math.min(at, now);
      const after = window.times.findLastIndex((other) => other <= time) + 1;
      const times = Array.from({ length: count }, () => time);
      window.times.splice(Math.max(after, window.first), 0, ...times);
    }
  }

  /** What counts now, for the next process; forgets the rest. */
  #rows(now: number): [string, number, number[]][] {
    const rows: [string, number, number[]][] = [];
    for (const [name, window] of this.#windows) {
      expire(window, now);
      if (window.times.length === window.first) this.#windows.delete(name);
      else rows.push([name, window.windowMs, window.times.slice(window.first)]);
    }
    return rows;
  }

  async #save(rows: readonly unknown[]): Promise<void> {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    await this.#store.setSetting(SETTING, rows.length === 0 ? null : JSON.stringify(rows));
  }
}

/** The other nodes on the store: what they are told, and what was heard of them. */
class Others {
  readonly #store: RateStore;
  readonly #add: (heard: HeardTakes) => void;
  readonly #node = randomUUID();
  #untold = new Map<string, [name: string, windowMs: number, count: number]>();
  #heardAt: number;
  /** By id: when it was heard. */
  readonly #heard = new Map<number, number>();

  private constructor(store: RateStore, now: number, add: (heard: HeardTakes) => void) {
    this.#store = store;
    this.#add = add;
    this.#heardAt = now - MAX_WINDOW_MS;
  }

  /** Null: there are none. `add`: counts what is heard, from the last minute on. */
  static async find(
    store: RateStore,
    now: number,
    add: (heard: HeardTakes) => void,
  ): Promise<Others | null> {
    const others = new Others(store, now, add);
    return (await others.tell(now)) ? others : null;
  }

  note(name: string, windowMs: number): void {
    const noted = this.#untold.get(name);
    if (noted === undefined) this.#untold.set(name, [name, windowMs, 1]);
    else noted[2] += 1;
  }

  /** Tells and hears. False: there is nobody. Rejects as the store does; what was not told is lost to the others. */
  async tell(now: number): Promise<boolean> {
    const windows = [...this.#untold.values()];
    this.#untold = new Map();
    const sinceMs = Math.min(now - this.#heardAt, MAX_WINDOW_MS) + OVERLAP_MS;
    const own = windows.length === 0 ? null : { at: now, windows };
    const heard = await this.#store.exchangeTakes(this.#node, own, sinceMs);
    if (heard === null) return false;
    this.#heardAt = now;
    for (const takes of heard) {
      if (!this.#heard.has(takes.id)) this.#add(takes);
      this.#heard.set(takes.id, now);
    }
    for (const [id, at] of this.#heard) {
      if (at < now - MAX_WINDOW_MS - OVERLAP_MS) this.#heard.delete(id);
    }
    return true;
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
