/**
 * Reads of the request log, from its own file.
 *
 * Promises newest first by cursor; a list never reads the stored bodies.
 */
import type { Database } from 'bun:sqlite';
import { SELECT_LOG, SELECT_LOG_SUMMARY } from './columns.ts';
import type { LogRow, LogSummaryRow } from './columns.ts';
import { pageOf, rangeOf } from './paging.ts';
import type { Reads } from './verbs.ts';

type LogQuery = {
  accountId: string;
  above: number;
  below: number;
  lowest: number;
  highest: number;
  method: string | null;
  q: string | null;
  limit: number;
};

const WHERE =
  ' WHERE account_id = $accountId AND seq > $above AND seq < $below' +
  ' AND status BETWEEN $lowest AND $highest AND ($method IS NULL OR method = $method)' +
  ' AND ($q IS NULL OR instr(lower(path), $q) > 0)';

/** The verbs over a reading connection to the log file; statements are prepared once, here. */
export function logReads(db: Database): Pick<Reads, 'logs' | 'log'> {
  const one = db.prepare<LogRow, [string]>(SELECT_LOG + ' WHERE id = ?');
  const seqAt = db.prepare<{ seq: number }, [string]>(
    'SELECT seq FROM logs WHERE id <= ? ORDER BY id DESC LIMIT 1',
  );
  const older = db.prepare<LogSummaryRow, [LogQuery]>(
    SELECT_LOG_SUMMARY + WHERE + ' ORDER BY seq DESC LIMIT $limit',
  );
  const newer = db.prepare<LogSummaryRow, [LogQuery]>(
    SELECT_LOG_SUMMARY + WHERE + ' ORDER BY seq LIMIT $limit',
  );

  return {
    log(accountId, id) {
      const row = one.get(id);
      return row === null || row.accountId !== accountId ? null : row;
    },
    logs(accountId, filter) {
      const { above, below, isForward } = rangeOf(filter, (id) => seqAt.get(id)?.seq ?? 0);
      const rows = (isForward ? newer : older).all({
        accountId,
        above,
        below,
        ...statusRange(filter.status),
        method: filter.method,
        q: filter.q === null || filter.q === '' ? null : filter.q.toLowerCase(),
        limit: filter.limit + 1,
      });
      return pageOf(rows, filter, (row) => row);
    },
  };
}

/** A class digit stands for its hundred. */
function statusRange(status: number | null): { lowest: number; highest: number } {
  if (status === null) return { lowest: 0, highest: 999 };
  if (status < 10) return { lowest: status * 100, highest: status * 100 + 99 };
  return { lowest: status, highest: status };
}
