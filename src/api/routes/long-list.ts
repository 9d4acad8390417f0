/**
 * Lists that are returned whole (docs/contract.md C17.8) and may be of any length: domains and keys of an account.
 *
 * Promises the envelope of such a list, or the part that the query asks for, from a bounded number of rows in memory:
 * what has more than `PART_ROWS` is read while it is sent. A row that is added or removed meanwhile may be in it or not.
 * Where the store fails in the middle, the log says so and the response breaks off, so that no client takes it for whole.
 */
import type { Log } from '../../base/log.ts';
import type { ListPart } from '../../store/pages.ts';
import { inParts, PART_ROWS } from '../../store/parts.ts';
import type { WholeListPart } from '../shapes/common.ts';

interface Source<Row, Shown> {
  read: (part: ListPart) => Promise<Row[]>;
  show: (row: Row) => Shown;
}

/** The body of the response to a request for the list of `source`. */
export async function listBody<Row extends { id: string }, Shown>(
  { read, show }: Source<Row, Shown>,
  query: WholeListPart,
  log: Pick<Log, 'error'>,
): Promise<object> {
  const { limit, after, before } = query;
  const most = limit ?? PART_ROWS;
  const found = await read({ limit: most + 1, after, before });
  const hasMore = found.length > most;
  if (hasMore && limit === undefined) {
    return new LongList(partsOf(read, query), show, log);
  }
  const rows = before === undefined ? found.slice(0, most) : found.slice(-most);
  return { object: 'list', has_more: hasMore, data: rows.map(show) };
}

/** Everything after `after`, or before `before`. */
async function* partsOf<Row extends { id: string }>(
  read: Source<Row, unknown>['read'],
  { after, before }: WholeListPart,
): AsyncGenerator<Row[]> {
  for await (const rows of inParts(read, after)) {
    const wanted = before === undefined ? rows : rows.filter(({ id }) => id < before);
    yield wanted;
    if (wanted.length < rows.length) return;
  }
}

/** A list whose JSON is made part by part. */
export class LongList<Row = unknown> {
  readonly #parts: AsyncGenerator<Row[]>;
  readonly #show: (row: Row) => unknown;
  readonly #log: Pick<Log, 'error'>;

  constructor(parts: AsyncGenerator<Row[]>, show: (row: Row) => unknown, log: Pick<Log, 'error'>) {
    this.#parts = parts;
    this.#show = show;
    this.#log = log;
  }

  /** Its text, in order. Throws what the store throws. */
  async *pieces(): AsyncGenerator<string, void> {
    let front = '{"object":"list","has_more":false,"data":[';
    try {
      for await (const rows of this.#parts) {
        if (rows.length === 0) continue;
        yield front + JSON.stringify(rows.map(this.#show)).slice(1, -1);
        front = ',';
      }
    } catch (error) {
      const hint = 'The response broke off. The error says what the store lacks.';
      this.#log.error('list_broke_off', { error, hint });
      throw error;
    }
    yield front === ',' ? ']}' : `${front}]}`;
  }
}
