/**
 * The lists of the request log, from its own file.
 *
 * Promises newest first by cursor, for every filter alone and together; a list never reads the stored
 * bodies. A cursor holds when retention has taken its row. The rows of sandbox keys have indexes and statements of
 * their own.
 */
import type { Database } from 'bun:sqlite';
import { idBound } from '../../base/ids.ts';
import { SELECT_LISTED_LOG } from './listed-columns.ts';
import type { ListedLogRow } from './listed-columns.ts';
import { readingTogether } from './database.ts';
import type { ReadTogether } from './database.ts';
import { fold, markOf } from './grams.ts';
import { pageOf, rangeOf, seqOfCursor } from './paging.ts';
import type { Range } from './paging.ts';
import { SearchReader } from './search-index.ts';
import { searchRows } from './search-rows.ts';
import { statusClass } from './search-sources.ts';
import type { PageOf } from '../pages.ts';
import type { LogFilter, LogSummary } from '../request-logs.ts';
import type { Store } from '../store.ts';

interface Outcome {
  method: string;
  status: number;
}

/** Sorts before every method. */
const BEFORE_ALL: Outcome = { method: '', status: 0 };

/** The list over reading connections to the log and the search file. */
export function logLists(logs: Database, search: Database): Pick<Store, 'logs'> {
  const all = new LogReader(logs, search, 'account_id', '');
  const ofSandbox = new LogReader(logs, search, 'account_id', ' AND is_sandbox = 1');
  const ofKey = new LogReader(logs, search, 'key_id', '');
  return {
    async logs(accountId, filter) {
      if (filter.isSandboxOnly === true) return ofSandbox.list(accountId, accountId, filter);
      const keyId = filter.keyId ?? null;
      if (keyId === null) return all.list(accountId, accountId, filter);
      const page = await ofKey.list(accountId, keyId, filter);
      // A key is of one account: all its rows are, or none.
      return page.rows.every((row) => row.accountId === accountId)
        ? page
        : { rows: [], hasMore: false };
    },
  };
}

class LogReader {
  readonly #index: SearchReader;
  readonly #isOfKey: boolean;
  readonly #together: ReadTogether;
  readonly #upTo;
  readonly #older;
  readonly #newer;
  readonly #nextStatus;
  readonly #nextMethod;
  readonly #olderSeqs;
  readonly #newerSeqs;
  readonly #bySeq;

  /** `owner`: the column whose value the lists are of; `only`: what every row has to fulfil beside the filter. */
  constructor(
    logs: Database,
    search: Database,
    owner: 'account_id' | 'key_id',
    only: '' | ' AND is_sandbox = 1',
  ) {
    this.#index = new SearchReader(search, 'log');
    this.#isOfKey = owner === 'key_id';
    this.#together = readingTogether(logs);
    this.#upTo = logs.prepare<{ seq: number; id: string }, [string]>(
      'SELECT seq, id FROM logs WHERE id <= ? ORDER BY id DESC LIMIT 1',
    );
    const ofOwner =
      SELECT_LISTED_LOG + ' WHERE ' + owner + ' = ?' + only + ' AND seq > ? AND seq < ?';
    type ByOwner = [string, number, number, number];
    this.#older = logs.prepare<ListedLogRow, ByOwner>(ofOwner + ' ORDER BY seq DESC LIMIT ?');
    this.#newer = logs.prepare<ListedLogRow, ByOwner>(ofOwner + ' ORDER BY seq LIMIT ?');
    const outcomes = 'SELECT method, status FROM logs WHERE ' + owner + ' = ?' + only;
    this.#nextStatus = logs.prepare<Outcome, [string, string, number]>(
      outcomes + ' AND method = ? AND status > ? ORDER BY status LIMIT 1',
    );
    this.#nextMethod = logs.prepare<Outcome, [string, string]>(
      outcomes + ' AND method > ? ORDER BY method, status LIMIT 1',
    );
    const seqs =
      'SELECT seq FROM logs WHERE ' +
      owner +
      ' = ?' +
      only +
      ' AND method = ? AND status = ? AND seq > ? AND seq < ?';
    type ByOutcome = [string, string, number, number, number, number];
    this.#olderSeqs = logs.prepare<{ seq: number }, ByOutcome>(seqs + ' ORDER BY seq DESC LIMIT ?');
    this.#newerSeqs = logs.prepare<{ seq: number }, ByOutcome>(seqs + ' ORDER BY seq LIMIT ?');
    this.#bySeq = logs.prepare<ListedLogRow, [number]>(SELECT_LISTED_LOG + ' WHERE seq = ?' + only);
  }

  /** `owner`: the account, or its key. */
  async list(accountId: string, owner: string, filter: LogFilter): Promise<PageOf<LogSummary>> {
    const range = this.#rangeOf(filter);
    const wanted = filter.limit + 1;
    const text = fold(filter.q ?? '');
    const rows =
      text === ''
        ? this.#together(() => this.#rows(owner, filter, range, wanted))
        : await this.#search(accountId, owner, filter, text, range, wanted);
    return pageOf(rows, filter, ({ seq: _seq, ...row }) => ({
      ...row,
      isSandbox: row.isSandbox === 1,
    }));
  }

  /** Ids carry the time at which a request began; positions follow them but for requests that overlap. */
  #rangeOf(filter: LogFilter): Range {
    const seqAt = (id: string): number => this.#upTo.get(id)?.seq ?? 0;
    const range = rangeOf(filter, (id) => seqOfCursor(id, this.#upTo.get(id), filter));
    const { since = null, until = null } = filter;
    if (since !== null) range.above = Math.max(range.above, seqAt(idBound(since)));
    if (until !== null) range.below = Math.min(range.below, seqAt(idBound(until)) + 1);
    return range;
  }

  #rows(owner: string, filter: LogFilter, range: Range, limit: number): ListedLogRow[] {
    const isWhole = filter.method === null && filter.status === null;
    return isWhole
      ? this.#of(owner, range, limit)
      : this.#ofOutcomes(owner, (outcome) => isWanted(outcome, filter), range, limit);
  }

  #of(owner: string, range: Range, limit: number): ListedLogRow[] {
    // No index has the rows of a key in their order: it would have to be kept for every request.
    if (this.#isOfKey) return this.#ofOutcomes(owner, () => true, range, limit);
    const list = range.isForward ? this.#newer : this.#older;
    return list.all(owner, range.above, range.below, limit);
  }

  #ofOutcomes(
    owner: string,
    isAsked: (outcome: Outcome) => boolean,
    range: Range,
    limit: number,
  ): ListedLogRow[] {
    const list = range.isForward ? this.#newerSeqs : this.#olderSeqs;
    const direction = range.isForward ? 1 : -1;
    return this.#outcomes(owner)
      .filter(isAsked)
      .flatMap(({ method, status }) =>
        list.all(owner, method, status, range.above, range.below, limit),
      )
      .map(({ seq }) => seq)
      .sort((a, b) => direction * (a - b))
      .slice(0, limit)
      .flatMap((seq) => this.#bySeq.get(seq) ?? []);
  }

  /**
   * The pairs of method and status that an owner has: some dozens, one step in the index each. Two
   * statements, because SQLite walks past every row of a method when the pair is compared as one.
   */
  #outcomes(owner: string): Outcome[] {
    const found: Outcome[] = [];
    let last: Outcome | null = BEFORE_ALL;
    for (;;) {
      last =
        this.#nextStatus.get(owner, last.method, last.status) ??
        this.#nextMethod.get(owner, last.method);
      if (last === null) return found;
      found.push(last);
    }
  }

  #search(
    accountId: string,
    owner: string,
    filter: LogFilter,
    text: string,
    range: Range,
    wanted: number,
  ): Promise<ListedLogRow[]> {
    const isMatch = (row: ListedLogRow): boolean =>
      row.accountId === accountId &&
      (owner === accountId || row.keyId === owner) &&
      isWanted(row, filter) &&
      fold(row.path).includes(text);
    return searchRows(
      {
        index: this.#index,
        marks: wantedMarks(accountId, filter),
        text,
        scan: (part, limit) => this.#of(owner, part, limit),
        matchesAt: (seqs) =>
          this.#together(() => seqs.flatMap((seq) => this.#bySeq.get(seq) ?? []).filter(isMatch)),
        isMatch,
        seqOf: (row) => row.seq,
      },
      range,
      wanted,
    );
  }
}

/** `filter.status` is a status or the digit of a class. */
function isWanted({ method, status }: Outcome, filter: LogFilter): boolean {
  if (filter.method !== null && method !== filter.method) return false;
  if (filter.status === null) return true;
  return filter.status < 10 ? statusClass(status) === filter.status : status === filter.status;
}

function wantedMarks(accountId: string, { method, status }: LogFilter): string[] {
  const marks = [markOf('account', accountId)];
  if (method !== null) marks.push(markOf('method', method));
  if (status !== null) marks.push(markOf(status < 10 ? 'class' : 'status', status));
  return marks;
}
