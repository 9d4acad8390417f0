/**
 * Reads of lists by rising id, whole or in part. A whole one is read in parts (`parts.ts`), and of all parts that are asked
 * for one in each round of the event loop, so that however many ask for long lists, others wait for one part.
 */
import type { ListPart } from '../pages.ts';
import { wholeOf } from '../parts.ts';
import { OneATick } from './one-a-tick.ts';
import type { SqlReader, SqlValue } from './reader.ts';

/** The lowest id there is (RFC 9562 section 5.9). */
export const NIL = '00000000-0000-0000-0000-000000000000';

interface Identified {
  id: string;
}

/** Reads the list of `select`, whose values `values` fill; `of` makes of a row what is listed. */
export function listReads<Row extends Identified, Listed extends Pick<Row, 'id'>>(
  sql: SqlReader,
  select: string,
  of: (row: Row) => Listed,
): (part: ListPart | undefined, ...values: SqlValue[]) => Promise<Listed[]> {
  const joined = select + (select.includes(' WHERE ') ? ' AND' : ' WHERE');
  const after = joined + ' id > ? ORDER BY id LIMIT ?';
  const before = joined + ' id < ? ORDER BY id DESC LIMIT ?';
  const gate = new OneATick();
  const read = async (part: ListPart, values: SqlValue[]): Promise<Listed[]> => {
    await gate.pass();
    const { limit } = part;
    if (part.before === undefined) {
      return (await sql.all<Row>(after, ...values, part.after ?? NIL, limit)).map(of);
    }
    return (await sql.all<Row>(before, ...values, part.before, limit)).toReversed().map(of);
  };
  return (part, ...values) =>
    part === undefined ? wholeOf((one) => read(one, values)) : read(part, values);
}
