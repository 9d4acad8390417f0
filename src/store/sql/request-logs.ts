/**
 * The read of one row of the request log, with its bodies.
 *
 * Promises null for another account's row, as for none. The list, with its filters and its search, is each engine's own.
 */
import type { RequestLogStore } from '../request-logs.ts';
import { SELECT_LOG, logOf } from './columns.ts';
import type { LogRow } from './columns.ts';
import type { SqlReader } from './reader.ts';

const LOG = SELECT_LOG + ' WHERE id = ?';

/** `sql`: of where the log is kept. */
export function logReads(sql: SqlReader): Pick<RequestLogStore, 'log'> {
  return {
    async log(accountId, id) {
      const row = await sql.one<LogRow>(LOG, id);
      return row?.accountId === accountId ? logOf(row) : null;
    },
  };
}
