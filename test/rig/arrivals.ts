/**
 * A list that can be waited on: what a rig server took, and a promise for what has yet to come.
 *
 * Promises that a waiter is woken by the arrival itself, never by polling. Fails with a text that names
 * what was awaited and how many items were there, so that a timed-out test says why.
 */

export class Arrivals<T> {
  readonly items: T[] = [];
  readonly #what: string;
  readonly #waiters = new Set<() => void>();

  /** `what`: the plural noun of a timeout's message, e.g. `messages`. */
  constructor(what: string) {
    this.#what = what;
  }

  push(item: T): void {
    this.items.push(item);
    for (const wake of this.#waiters) wake();
  }

  /** The first item that satisfies `accepts`, which may have come already. */
  first(accepts: (item: T) => boolean, timeoutMs = 10_000): Promise<T> {
    return this.#until(() => this.items.find(accepts), 'a matching one', timeoutMs);
  }

  /** Every item so far, once there are at least `count` that satisfy `accepts`; only those are returned. */
  atLeast(
    count: number,
    accepts: (item: T) => boolean = () => true,
    timeoutMs = 10_000,
  ): Promise<T[]> {
    const enough = (): T[] | undefined => {
      const matching = this.items.filter(accepts);
      return matching.length >= count ? matching : undefined;
    };
    return this.#until(enough, `${count}`, timeoutMs);
  }

  clear(): void {
    this.items.length = 0;
  }

  #until<R>(look: () => R | undefined, wanted: string, timeoutMs: number): Promise<R> {
    const now = look();
    if (now !== undefined) return Promise.resolve(now);
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        const found = look();
        if (found === undefined) return;
        done();
        resolve(found);
      };
      const timer = setTimeout(() => {
        done();
        reject(
          new Error(
            `waited ${timeoutMs} ms for ${wanted} of the ${this.#what}; ${this.items.length} came`,
          ),
        );
      }, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
      };
      this.#waiters.add(wake);
    });
  }
}
