/**
 * Rows of SQLite's own lists: with their position, `seq`, which the single writer hands out in commit order.
 *
 * What any engine reads alike stands in `sql/columns.ts`. Never filters, never decides.
 */
import type { LogSummary } from '../request-logs.ts';
import {
  LOG_COLUMNS,
  MESSAGE_COLUMNS,
  SELECT_CALL_ATTEMPT,
  SELECT_SUPPRESSION,
  callAttemptOf,
} from '../sql/columns.ts';
import type { CallAttemptRow, LogRow, MessageRow, SuppressionRow } from '../sql/columns.ts';
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

export const SELECT_LISTED_LOG = 'SELECT seq, ' + LOG_COLUMNS + ' FROM logs';
export type ListedLogRow = Omit<LogSummary, 'isSandbox'> &
  Pick<LogRow, 'isSandbox'> & { seq: number };
