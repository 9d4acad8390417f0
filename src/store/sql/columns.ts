/**
 * Rows as an engine gives them, turned into the shapes of `rows.ts`.
 *
 * The SELECT lists name every column as its field, in quotes, because PostgreSQL folds a bare name to lower case. Here
 * only what an engine may hold in another form is converted: booleans (SQLite has 0 and 1) and lists (JSON text, by
 * `json-columns.ts`). Never filters, never decides.
 */
import type {
  Account,
  Attempt,
  Call,
  CallAttempt,
  Domain,
  Endpoint,
  Key,
  LogRecord,
  Message,
  Recipient,
  Suppression,
} from '../rows.ts';
import { headersOf, recordStatesOf, stringsOf, tagsOf } from '../json-columns.ts';

/** `T` with some fields in their stored form. */
type Stored<T, K extends keyof T, V> = Omit<T, K> & Record<K, V>;

/** A boolean as SQLite has it, and as PostgreSQL does. */
type StoredBoolean = number | boolean;
const isTrue = (stored: StoredBoolean): boolean => stored === 1 || stored === true;

export const SELECT_ACCOUNT =
  'SELECT id, name, plan, status, status_reason AS "statusReason", created_at AS "createdAt" FROM accounts';
export type AccountRow = Account;

export const SELECT_KEY =
  'SELECT id, account_id AS "accountId", name, permission, is_test AS "isTest", prefix, last4,' +
  ' last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", created_at AS "createdAt" FROM api_keys';
export type KeyRow = Stored<Key, 'isTest', StoredBoolean>;
export const keyOf = (row: KeyRow): Key => ({ ...row, isTest: isTrue(row.isTest) });

export const SELECT_DOMAIN =
  'SELECT id, account_id AS "accountId", name, status, selector, dkim_public_key AS "dkimPublicKey",' +
  ' sealed_dkim_key AS "sealedDkimKey", record_states AS "recordStates", created_at AS "createdAt",' +
  ' verified_at AS "verifiedAt", last_checked_at AS "lastCheckedAt", next_check_at AS "nextCheckAt",' +
  ' failing_since AS "failingSince", pending_since AS "pendingSince", deleted_at AS "deletedAt" FROM domains';
export type DomainRow = Stored<Domain, 'recordStates', string>;
export const domainOf = (row: DomainRow): Domain => ({
  ...row,
  recordStates: recordStatesOf(row.recordStates),
});

export const MESSAGE_COLUMNS =
  'id, account_id AS "accountId", key_id AS "keyId", log_id AS "logId", domain_id AS "domainId",' +
  ' is_sandbox AS "isSandbox", sender, to_list AS "toList", cc_list AS "ccList", bcc_list AS "bccList",' +
  ' reply_to_list AS "replyToList", subject, tags, event_headers AS "eventHeaders",' +
  ' message_id AS "messageId", status, failure_reason AS "failureReason", created_at AS "createdAt", updated_at AS "updatedAt"';
export const SELECT_MESSAGE = 'SELECT ' + MESSAGE_COLUMNS + ' FROM messages';
export interface MessageRow {
  id: string;
  accountId: string;
  keyId: string | null;
  logId: string | null;
  domainId: string | null;
  isSandbox: StoredBoolean;
  sender: string;
  toList: string;
  ccList: string;
  bccList: string;
  replyToList: string;
  subject: string;
  tags: string;
  eventHeaders: string | null;
  messageId: string;
  status: Message['status'];
  failureReason: string | null;
  createdAt: number;
  updatedAt: number;
}

export const messageOf = (row: MessageRow): Message => ({
  id: row.id,
  accountId: row.accountId,
  keyId: row.keyId,
  logId: row.logId,
  domainId: row.domainId,
  isSandbox: isTrue(row.isSandbox),
  from: row.sender,
  to: stringsOf(row.toList),
  cc: stringsOf(row.ccList),
  bcc: stringsOf(row.bccList),
  replyTo: stringsOf(row.replyToList),
  subject: row.subject,
  tags: tagsOf(row.tags),
  eventHeaders: headersOf(row.eventHeaders),
  messageId: row.messageId,
  status: row.status,
  failureReason: row.failureReason,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

const RECIPIENT_COLUMNS =
  'id, message_id AS "messageId", account_id AS "accountId", address, domain, kind, status, attempts,' +
  ' next_attempt_at AS "nextAttemptAt", expires_at AS "expiresAt", last_reason AS "lastReason",' +
  ' delayed_at AS "delayedAt", updated_at AS "updatedAt"';
export const SELECT_RECIPIENT = 'SELECT ' + RECIPIENT_COLUMNS + ' FROM recipients';
/** With whose it is. */
export const SELECT_OWNED_RECIPIENT =
  'SELECT ' + RECIPIENT_COLUMNS + ', owner, lease_until AS "leaseUntil" FROM recipients';
export type RecipientRow = Recipient;

export const SELECT_ATTEMPT =
  'SELECT id, message_id AS "messageId", recipient_id AS "recipientId", number, began_at AS "beganAt",' +
  ' ended_at AS "endedAt", outcome, class, stage, host, address, tls, reply,' +
  ' may_be_duplicate AS "mayBeDuplicate" FROM attempts';
export type AttemptRow = Stored<Attempt, 'mayBeDuplicate', StoredBoolean>;
export const attemptOf = (row: AttemptRow): Attempt => ({
  ...row,
  mayBeDuplicate: isTrue(row.mayBeDuplicate),
});

export const SELECT_ENDPOINT =
  'SELECT id, account_id AS "accountId", url, events, status, sealed_secret AS "sealedSecret",' +
  ' sealed_previous_secret AS "sealedPreviousSecret", previous_until AS "previousUntil",' +
  ' failure_count AS "failureCount", last_failure_at AS "lastFailureAt", created_at AS "createdAt",' +
  ' deleted_at AS "deletedAt" FROM endpoints';
export type EndpointRow = Stored<Endpoint, 'events', string>;
export const endpointOf = (row: EndpointRow): Endpoint => ({
  ...row,
  events: stringsOf(row.events),
});

export const SELECT_CALL =
  'SELECT calls.id, endpoint_id AS "endpointId", account_id AS "accountId", event_id AS "eventId",' +
  ' event_type AS "eventType", calls.message_id AS "messageId", webhook_body AS body, status, attempts,' +
  ' next_attempt_at AS "nextAttemptAt", created_at AS "createdAt",' +
  ' (SELECT log_id FROM messages WHERE messages.id = calls.message_id) AS "requestId"' +
  ' FROM calls JOIN events ON events.message_id = calls.message_id AND events.id = calls.event_id';
export type CallRow = Call;

export const SELECT_CALL_ATTEMPT =
  'SELECT id, call_id AS "callId", endpoint_id AS "endpointId", event_type AS "eventType",' +
  ' message_id AS "messageId", attempt, status_code AS "statusCode", ok, error,' +
  ' duration_ms AS "durationMs", created_at AS "createdAt" FROM call_attempts';
export type CallAttemptRow = Stored<CallAttempt, 'ok', StoredBoolean>;
export const callAttemptOf = (row: CallAttemptRow): CallAttempt => ({ ...row, ok: isTrue(row.ok) });

export const SELECT_SUPPRESSION =
  'SELECT id, account_id AS "accountId", email, reason, source, note, created_at AS "createdAt"' +
  ' FROM suppressions';
export type SuppressionRow = Suppression;

/** The columns of the request log that its list shows. */
export const LOG_COLUMNS =
  'id, account_id AS "accountId", key_id AS "keyId", key_name AS "keyName",' +
  ' key_permission AS "keyPermission", method, path, status, duration_ms AS "durationMs",' +
  ' message_id AS "messageId", user_agent AS "userAgent", ip, created_at AS "createdAt",' +
  ' is_sandbox AS "isSandbox"';
export const SELECT_LOG =
  'SELECT ' +
  LOG_COLUMNS +
  ', request_body AS "requestBody", response_body AS "responseBody" FROM logs';
export type LogRow = Stored<LogRecord, 'isSandbox', StoredBoolean>;
export const logOf = (row: LogRow): LogRecord => ({ ...row, isSandbox: isTrue(row.isSandbox) });
