/**
 * Lists that are short with most, and as long as somebody makes them with some: accounts, domains, keys.
 *
 * Promises every row that is there from the first part to the last, once; one that is added or removed meanwhile may be
 * in it or not. Other work is done between two parts: SQLite reads on the thread that asks, and so does whoever makes
 * something of each row.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { ListPart } from './pages.ts';

/** Rows of a part: some milliseconds, where each is long and stands on pages of its own. */
export const PART_ROWS = 100;

/** The whole list that `read` reads. */
export async function wholeOf<Row extends { id: string }>(
  read: (part: ListPart) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for await (const rows of inParts(read)) all.push(...rows);
  return all;
}

/** What `read` reads, all behind the row with the id `after`, part by part; none is empty. */
export async function* inParts<Row extends { id: string }>(
  read: (part: ListPart) => Promise<Row[]>,
  after?: string,
): AsyncGenerator<Row[]> {
  for (let last = after; ;) {
    const rows = await read({ limit: PART_ROWS, after: last });
    if (rows.length > 0) yield rows;
    if (rows.length < PART_ROWS) return;
    last = rows.at(-1)?.id;
    await nextTick();
  }
}
