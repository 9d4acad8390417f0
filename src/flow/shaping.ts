/**
 * Lanes: how much goes at once to one place (a provider, a set of MX hosts, a smarthost).
 *
 * Promises that no lane has more sessions under way than it may, whatever waits. Claims a few messages
 * more than it has sessions, so that the next one is signed when a session gets free.
 */

/** Sessions at once to one place, unless something is known of it. */
export const DEFAULT_SESSIONS = 10;

export class Lane {
  readonly key: string;
  readonly maxSessions: number;
  #sessions = 0;
  #claimed = 0;
  readonly #queue: (() => void)[] = [];
  #roomWanted: (() => void) | null = null;

  constructor(key: string, maxSessions: number = DEFAULT_SESSIONS) {
    this.key = key;
    this.maxSessions = maxSessions;
  }

  /** How many more recipients may be claimed for this lane now. */
  get room(): number {
    return this.maxSessions * 2 - this.#claimed;
  }

  get isIdle(): boolean {
    return this.#claimed === 0;
  }

  claim(): void {
    this.#claimed += 1;
  }

  /** A claimed recipient has ended, whatever came of it. */
  unclaim(): void {
    this.#claimed -= 1;
    const wanted = this.#roomWanted;
    this.#roomWanted = null;
    wanted?.();
  }

  /** Calls `wanted` once, when there is room again. */
  onRoom(wanted: () => void): void {
    this.#roomWanted = wanted;
  }

  /** Waits for the turn to hold a session; first come, first served. */
  enter(): Promise<void> {
    if (this.#sessions < this.maxSessions) {
      this.#sessions += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#sessions -= 1;
    else next();
  }
}
