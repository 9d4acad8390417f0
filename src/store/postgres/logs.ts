/**
 * The request log.
 *
 * Promises that mail never waits for it: its commits do not wait for the disk, so that the rows of the last moment may be
 * lost with the power. Newest first by id, for every filter alone and together; a list never reads the stored bodies.
 */
import type { RetentionStore } from '../retention.ts';
import type { LogFilter, LogSummary, RequestLogStore } from '../request-logs.ts';
import type { LogRecord } from '../rows.ts';
import { logReads } from '../sql/request-logs.ts';
import type { Access } from './database.ts';
import { boundId, idOrNull } from './ids.ts';
import { listBy } from './lists.ts';
import { escapeLike } from './messages.ts';
import { sqlReader } from './reader.ts';
import { untilFewer } from './retention.ts';
import { insertInto, part, selectFrom } from './statement.ts';
import type { Part } from './statement.ts';
import { LOGS, WHOLE_LOGS } from './tables.ts';

const ROWS_PER_STEP = 1_000;

/** Writes the rows of several calls as one; a repeated id is ignored. */
export async function appendAllLogs(
  database: Access,
  calls: readonly (readonly LogRecord[])[],
): Promise<undefined[]> {
  const records = calls.flat();
  if (records.length > 0) {
    await database.transaction(async (session) => {
      session.send(part('SET LOCAL synchronous_commit = off'));
      // An account that was deleted in the meantime gets no rows any more.
      const insert = insertInto(
        WHOLE_LOGS,
        records.map((record) => ({ ...record })),
      );
      const alive = `${insert.text} WHERE EXISTS (SELECT 1 FROM accounts WHERE accounts.id = v.account_id) ON CONFLICT DO NOTHING`;
      session.send({ ...insert, text: alive });
    });
  }
  return calls.map(() => undefined);
}

/** The other verbs over the database. */
export function logVerbs(
  database: Access,
): Omit<RequestLogStore, 'appendLogs'> & Pick<RetentionStore, 'purgeLogs'> {
  return {
    ...logReads(sqlReader(database)),
    logs: (accountId, filter) =>
      listBy<LogSummary>(database, selectFrom(LOGS), conditions(accountId, filter), filter),
    // The oldest rows are looked at first and alone: a search for old ones would read a whole account.
    purgeLogs: (accountId, before) =>
      untilFewer(ROWS_PER_STEP, () =>
        database.run(
          part(
            'DELETE FROM logs WHERE id IN (SELECT id FROM (SELECT id, created_at FROM logs WHERE account_id = $1' +
              ' ORDER BY id LIMIT $2) AS oldest WHERE created_at < $3)',
            idOrNull(accountId),
            ROWS_PER_STEP,
            before,
          ),
        ),
      ),
  };
}

function conditions(accountId: string, filter: LogFilter): Part[] {
  const { q, status, method, keyId = null, since = null, until = null, isSandboxOnly } = filter;
  const where = [part('account_id = $1', idOrNull(accountId))];
  if (isSandboxOnly === true) where.push(part('is_sandbox'));
  else if (keyId !== null) where.push(part('key_id = $1', keyId));
  if (method !== null) where.push(part('method = $1', method));
  if (status !== null) {
    where.push(status < 10 ? part('status / 100 = $1::int4', status) : part('status = $1', status));
  }
  if (since !== null) where.push(part('id >= $1', boundId(since)));
  if (until !== null) where.push(part('id < $1', boundId(until)));
  if (q !== null && q !== '') {
    where.push(part('lower(path) LIKE $1', `%${escapeLike(q.toLowerCase())}%`));
  }
  return where;
}
