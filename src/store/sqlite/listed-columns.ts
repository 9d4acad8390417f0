/**
 * Rows of SQLite's own lists: with their position, `seq`, by which the single writer hands them out in commit order, and
 * of the request log, which has a file of its own.
 *
 * What any engine reads alike stands in `sql/columns.ts`. Never filters, never decides.
 */
import type { LogSummary } from '../request-logs.ts';
import type { LogRecord } from '../rows.ts';
import {
  MESSAGE_COLUMNS,
  SELECT_CALL_ATTEMPT,
  SELECT_SUPPRESSION,
  callAttemptOf,
} from '../sql/columns.ts';
import type { CallAttemptRow, MessageRow, SuppressionRow } from '../sql/columns.ts';
import type { ListedAttempt } from '../webhooks.ts';

export const SELECT_LISTED_MESSAGE = 'SELECT seq, ' + MESSAGE_COLUMNS + ' FROM messages';
export type ListedMessageRow = MessageRow & { seq: number };

export const SELECT_LISTED_SUPPRESSION = SELECT_SUPPRESSION.replace('SELECT', 'SELECT seq,');
export type ListedSuppressionRow = SuppressionRow & { seq: number };

/** With the event, where the call is still there. */
export const SELECT_LISTED_ATTEMPT = SELECT_CALL_ATTEMPT.replace(
  ' FROM call_attempts',
  ', (SELECT event_id FROM calls WHERE calls.id = call_id) AS eventId FROM call_attempts',
);
export type ListedAttemptRow = CallAttemptRow & { eventId: string | null };
export const listedAttemptOf = (row: ListedAttemptRow): ListedAttempt => ({
  ...callAttemptOf(row),
  eventId: row.eventId,
});

const LOG_COLUMNS =
  'id, account_id AS accountId, key_id AS keyId, key_name AS keyName,' +
  ' key_permission AS keyPermission, method, path, status, duration_ms AS durationMs,' +
  ' message_id AS messageId, user_agent AS userAgent, ip, created_at AS createdAt,' +
  ' is_sandbox AS isSandbox';
/** With its position in the list. */
export const SELECT_LISTED_LOG = 'SELECT seq, ' + LOG_COLUMNS + ' FROM logs';
export const SELECT_LOG =
  'SELECT ' +
  LOG_COLUMNS +
  ', request_body AS requestBody, response_body AS responseBody FROM logs';
export type LogRow = Omit<LogRecord, 'isSandbox'> & { isSandbox: number };
export type ListedLogRow = Omit<LogSummary, 'isSandbox'> & { isSandbox: number; seq: number };
