/**
 * Searching a list: the index for what is indexed, a scan for the rows that came after.
 *
 * Promises the same rows, in the same order, as a scan of everything would find; every hit of the index is compared
 * with its row. Lets other work run between steps of a long scan. Never keeps a statement open across such a pause,
 * because simultaneous searches share statements. Fails with `SearchUnreadyError` when the index, which is still being
 * made, lacks more rows than can be looked through while somebody waits.
 */
import { SearchUnreadyError } from '../store.ts';
import type { Range } from './paging.ts';
import type { SearchReader } from './search-index.ts';

export interface Searched<Row> {
  index: SearchReader;
  marks: readonly string[];
  /** Folded, not empty. */
  text: string;
  /** The nearest `limit` rows of the range that fulfil every filter but the text. */
  scan(range: Range, limit: number): Row[];
  /** Of the rows with these numbers those that still exist and match, in the same order. */
  matchesAt(seqs: readonly number[]): Row[];
  /** Whether a row fulfils every filter, text included. */
  isMatch(row: Row): boolean;
  seqOf(row: Row): number;
}

/** Rows of one step of a scan: some milliseconds of work. */
const SCAN_STEP = 2000;
/** Rows that a search looks through because the index lacks them: half a second of work, 1 to 4 s while the index is made. */
export const MOST_UNINDEXED = 400_000;
/** Candidates compared with their rows at a time; grows, as most searches fill a page with the first few. */
const FIRST_CHECK = 64;
const LARGEST_CHECK = 1024;

/** The nearest `wanted` rows of `range` that match. */
export async function searchRows<Row>(
  searched: Searched<Row>,
  range: Range,
  wanted: number,
): Promise<Row[]> {
  const indexedTo = searched.index.indexedTo();
  const indexed = { ...range, below: Math.min(range.below, indexedTo + 1) };
  const later = { ...range, above: Math.max(range.above, indexedTo) };
  const found: Row[] = [];
  if (range.isForward) {
    searchIndexed(searched, indexed, wanted, found);
    await scanUnindexed(searched, later, wanted, found);
  } else {
    await scanUnindexed(searched, later, wanted, found);
    searchIndexed(searched, indexed, wanted, found);
  }
  return found;
}

async function scanUnindexed<Row>(
  searched: Searched<Row>,
  range: Range,
  wanted: number,
  found: Row[],
): Promise<void> {
  const isDone = await scanRows(searched, range, wanted, found, MOST_UNINDEXED);
  if (!isDone) throw new SearchUnreadyError();
}

/**
 * Adds to `found`, until it has `wanted` rows, what a scan of `range` finds. Looks at no more than `most` rows, in whole
 * steps; false: it had to stop for that.
 */
export async function scanRows<Row>(
  searched: Searched<Row>,
  range: Range,
  wanted: number,
  found: Row[],
  most = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const rest = { ...range };
  for (let looked = 0; found.length < wanted && rest.above + 1 < rest.below; looked += SCAN_STEP) {
    const rows = searched.scan(rest, SCAN_STEP);
    if (looked >= most && rows.length > 0) return false;
    for (const row of rows) {
      if (found.length < wanted && searched.isMatch(row)) found.push(row);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SCAN_STEP) return true;
    if (rest.isForward) rest.above = searched.seqOf(last);
    else rest.below = searched.seqOf(last);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return true;
}

function searchIndexed<Row>(
  searched: Searched<Row>,
  range: Range,
  wanted: number,
  found: Row[],
): void {
  if (found.length >= wanted || range.above + 1 >= range.below) return;
  let check = FIRST_CHECK;
  let unchecked: number[] = [];
  const compare = (): void => {
    found.push(...searched.matchesAt(unchecked).slice(0, wanted - found.length));
    unchecked = [];
    check = Math.min(check * 2, LARGEST_CHECK);
  };
  const query = { marks: searched.marks, text: searched.text, ...range };
  for (const seq of searched.index.candidates(query)) {
    unchecked.push(seq);
    if (unchecked.length < check) continue;
    compare();
    if (found.length >= wanted) return;
  }
  compare();
}
