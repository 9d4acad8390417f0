/**
 * What the brake knows of one account: when its recipients bounced or complained, and how much it sent.
 *
 * Counts the suppressions that a message of the account caused: a hard bounce and a complaint are one row each, while
 * imports, manual rows and the sandbox make none. A row whose source is no message of the account, as a CSV file can
 * name any, proves nothing and is not counted. Reads only what is new since the last look.
 */
import { isId } from '../../base/ids.ts';
import type { Context } from '../context.ts';
import { dayOf } from './usage.ts';

export const DAY_MS = 86_400_000;
const PAGE = 500;
/** Longest window, in days. */
export const WEEK_DAYS = 7;

type Harm = 'hard_bounce' | 'complaint';

export class BrakeWindow {
  readonly #accountId: string;
  readonly #times: Record<Harm, number[]> = { hard_bounce: [], complaint: [] };
  #lastId: string | null = null;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /** Reads the rows that are new; false when there are none. Rows older than a week are dropped. */
  async look({ store, clock }: Pick<Context, 'store' | 'clock'>): Promise<boolean> {
    const oldest = clock.now() - WEEK_DAYS * DAY_MS;
    const until = this.#lastId;
    let after: string | null = null;
    let isNew = false;
    for (;;) {
      const page = { limit: PAGE, after, before: null };
      const { rows, hasMore } = await store.suppressions(this.#accountId, null, page);
      for (const { id, reason, source, createdAt } of rows) {
        if (id === until) return this.#trim(oldest, isNew);
        if (!isNew) this.#lastId = id;
        isNew = true;
        const isHarm = reason === 'hard_bounce' || reason === 'complaint';
        if (!isHarm || createdAt < oldest) continue;
        if (await this.#isOwnMessage(store, source)) this.#times[reason].push(createdAt);
      }
      const last = rows.at(-1);
      // The list is newest first, but an import may put old times at its head: stop only at what was read before.
      if (!hasMore || last === undefined || (until === null && last.createdAt < oldest)) {
        return this.#trim(oldest, isNew);
      }
      after = last.email;
    }
  }

  count(harm: Harm, since: number): number {
    return this.#times[harm].filter((time) => time >= since).length;
  }

  async #isOwnMessage(store: Context['store'], source: string | null): Promise<boolean> {
    if (source === null || !isId(source)) return false;
    return (await store.messageById(source))?.accountId === this.#accountId;
  }

  #trim(oldest: number, isNew: boolean): boolean {
    for (const harm of ['hard_bounce', 'complaint'] as const) {
      this.#times[harm] = this.#times[harm].filter((time) => time >= oldest);
    }
    return isNew;
  }
}

/** Live recipients accepted on the UTC day of `now` and the `days - 1` before it. */
export async function sentOver(
  { store }: Pick<Context, 'store'>,
  accountId: string,
  now: number,
  days: number,
): Promise<number> {
  let sum = 0;
  for (let back = 0; back < days; back += 1) {
    sum += await store.usedOnDay(accountId, dayOf(now - back * DAY_MS));
  }
  return sum;
}
