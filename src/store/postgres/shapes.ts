/**
 * Rows as the tables hold them, and as `rows.ts` has them.
 *
 * Converts what PostgreSQL holds differently: lists as JSON text (`json-columns.ts`), content as bytes, and a recipient,
 * which stands in two tables while it waits. Never filters, never decides.
 */
import { headersText, listText } from '../json-columns.ts';
import type { Message } from '../rows.ts';
import { fieldsOf } from './statement.ts';
import type { RowOf } from './statement.ts';
import { RECIPIENTS } from './tables.ts';
import type { NEW_MESSAGES } from './tables.ts';

/** A message as it is written, with what lists are searched by. */
export function messageRow(message: Message): RowOf<typeof NEW_MESSAGES> {
  const toList = listText(message.to);
  return {
    id: message.id,
    accountId: message.accountId,
    keyId: message.keyId,
    logId: message.logId,
    domainId: message.domainId,
    isSandbox: message.isSandbox,
    sender: message.from,
    toList,
    ccList: listText(message.cc),
    bccList: listText(message.bcc),
    replyToList: listText(message.replyTo),
    subject: message.subject,
    tags: listText(message.tags),
    eventHeaders: headersText(message.eventHeaders),
    messageId: message.messageId,
    status: message.status,
    failureReason: message.failureReason,
    createdAt: message.createdAt,
    updatedAt: message.updatedAt,
    searched: searchedText(message),
  };
}

/** Subject, sender and `to` addresses, whatever their case. */
export function searchedText({
  subject,
  from,
  to,
}: Pick<Message, 'subject' | 'from' | 'to'>): string {
  return `${subject}\n${from}\n${to.join('\n')}`.toLowerCase();
}

/** Text as the bytes that are stored. */
export const bytesOf = (text: string | null): Uint8Array | null =>
  text === null ? null : Buffer.from(text);

/** A recipient as a whole: what changes with each attempt stands in `queue` until its end. */
const RECIPIENT_FIELDS = fieldsOf(RECIPIENTS, 'r')
  .replace('r.attempts AS', 'COALESCE(q.attempts, r.attempts) AS')
  .replace('r.updated_at AS', 'GREATEST(r.updated_at, q.updated_at) AS');
const RECIPIENT_FROM = ' FROM recipients AS r LEFT JOIN queue AS q ON q.recipient_id = r.id';
export const SELECT_RECIPIENT = `SELECT ${RECIPIENT_FIELDS}, q.next_attempt_at AS "nextAttemptAt"${RECIPIENT_FROM}`;
/** The same of those that wait, with whose they are. */
export const SELECT_WAITING_RECIPIENT =
  `SELECT ${RECIPIENT_FIELDS}, q.next_attempt_at AS "nextAttemptAt", q.owner, q.lease_until AS "leaseUntil"` +
  ' FROM queue AS q JOIN recipients AS r ON r.id = q.recipient_id';

/** A call with the body of its event and the request of its message. */
export const SELECT_CALL =
  'SELECT c.id, c.endpoint_id AS "endpointId", c.account_id AS "accountId", c.event_id AS "eventId",' +
  ' c.event_type AS "eventType", c.message_id AS "messageId", e.webhook_body AS body, c.status, c.attempts,' +
  ' c.next_attempt_at AS "nextAttemptAt", c.created_at AS "createdAt",' +
  ' (SELECT m.log_id FROM messages AS m WHERE m.id = c.message_id) AS "requestId"' +
  ' FROM calls AS c JOIN events AS e ON e.message_id = c.message_id AND e.id = c.event_id';
