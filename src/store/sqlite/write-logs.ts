/**
 * Appending request logs to their own file, and taking out what retention lets go.
 *
 * Promises nothing about the last rows before a power cut. A repeated id is ignored.
 */
import type { Database } from 'bun:sqlite';
import { logDeletion } from './write-account-deletion.ts';
import { logErasure } from './write-erasure.ts';
import type { LogWrites } from './verbs.ts';

/** The verbs over the writer's connection to the log file; statements are prepared once, here. */
export function logWrites(db: Database): Omit<LogWrites, 'scrubLog'> {
  const gone = new Set<string>();
  const add = db.prepare(
    'INSERT INTO logs (id, account_id, method, path, status, duration_ms, message_id, key_id, key_name,' +
      ' key_permission, user_agent, ip, created_at, is_sandbox, request_body, response_body)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  // The oldest rows are looked at first and alone: a scan for old ones would read a whole account.
  const drop = db.prepare(
    'DELETE FROM logs WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM logs' +
      ' WHERE account_id = ? ORDER BY seq LIMIT ?) WHERE created_at < ?)',
  );
  return {
    appendLogs(records) {
      for (const record of records) {
        if (gone.has(record.accountId)) continue;
        add.run(
          record.id,
          record.accountId,
          record.method,
          record.path,
          record.status,
          record.durationMs,
          record.messageId,
          record.keyId,
          record.keyName,
          record.keyPermission,
          record.userAgent,
          record.ip,
          record.createdAt,
          record.isSandbox,
          record.requestBody,
          record.responseBody,
        );
      }
    },
    ...logErasure(db),
    ...logDeletion(db, gone),
    purgeLogsStep: (accountId, before, limit) => drop.run(accountId, limit, before).changes,
  };
}
