/**
 * Appending request logs to their own file.
 *
 * Promises nothing about the last rows before a power cut. A repeated id is ignored.
 */
import type { Database } from 'bun:sqlite';
import type { LogRecord } from './rows.ts';

/** Returns the function that adds one record over the writer's connection to the log file. */
export function logWriter(db: Database): (record: LogRecord) => void {
  const add = db.prepare(
    'INSERT INTO logs (id, account_id, method, path, status, duration_ms, message_id, key_id, key_name,' +
      ' key_permission, user_agent, ip, created_at, request_body, response_body)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  return (record) => {
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
      record.requestBody,
      record.responseBody,
    );
  };
}
