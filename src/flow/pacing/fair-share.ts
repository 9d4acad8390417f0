/**
 * What each account has of something that all share: attempts, look-ups of sites.
 *
 * Promises, where its answer is heeded, that there is always something free for an account that has none: one may have
 * `SHARE` times as much as is free ("dynamic thresholds", A. Choudhury and E. Hahne, 1998). Of 1,000 one account alone
 * gets 800, each of two 444. Keeps no account that has nothing. Only counts; cannot fail.
 */

const SHARE = 4;

export class FairShare {
  readonly #counts = new Map<string, number>();

  of(accountId: string): number {
    return this.#counts.get(accountId) ?? 0;
  }

  /** Whether an account that has `count` may have one more while `free` are free. */
  leavesEnough(count: number, free: number): boolean {
    return count < SHARE * free;
  }

  take(accountId: string): void {
    this.#counts.set(accountId, this.of(accountId) + 1);
  }

  giveBack(accountId: string): void {
    const left = this.of(accountId) - 1;
    if (left > 0) this.#counts.set(accountId, left);
    else this.#counts.delete(accountId);
  }
}
