/**
 * Whose destination comes next, in a lane or among those whose site is to be found: round robin over the accounts that
 * have any, and over each account's destinations.
 *
 * Promises that an account with very much mail delays each other account of its lane by one recipient at a time. Keeps
 * no account without a destination. Cannot fail.
 */
import type { Destination } from './waiting.ts';

export class Rotation {
  /** The destinations of each account, in the order in which they are served; so are the accounts. */
  readonly #accounts = new Map<string, Destination[]>();

  get isEmpty(): boolean {
    return this.#accounts.size === 0;
  }

  /** Puts `destination` behind all others of its account; an account that had none behind all other accounts. */
  push(destination: Destination): void {
    const known = this.#accounts.get(destination.accountId);
    if (known === undefined) this.#accounts.set(destination.accountId, [destination]);
    else known.push(destination);
  }

  /** Takes out the next one of an account that may be served; null when there is none. */
  shift(mayServe: (accountId: string) => boolean): Destination | null {
    for (const [accountId, destinations] of this.#accounts) {
      if (!mayServe(accountId)) continue;
      const next = destinations.shift() ?? null;
      // A map keeps the order of insertion: the account is appended again, unless this was its last destination.
      this.#accounts.delete(accountId);
      if (destinations.length > 0) this.#accounts.set(accountId, destinations);
      return next;
    }
    return null;
  }

  /** The accounts that have a destination here, the next one first. */
  accounts(): IterableIterator<string> {
    return this.#accounts.keys();
  }
}
