/**
 * Emails as the two families of routes return them, and the status words of each.
 *
 * Promises every field of the contract on every row; beyond it only what client libraries require
 * (docs/client-libraries.md L13).
 */
import { Type, type Static } from '@sinclair/typebox';
import { MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import { addressOf, parseAddress } from '../../mail/header/address.ts';
import type { Body, Event, Message } from '../../store/rows.ts';
import { Id, iso, nullable, Time, words } from './common.ts';

/** Values of `last_event` (docs/contract.md C8.1); this service never sets the last four. */
export const LAST_EVENTS = [
  ...MESSAGE_STATUSES,
  'scheduled',
  'canceled',
  'opened',
  'clicked',
] as const;

type Texts = Pick<Body, 'html' | 'text'>;

const Status = words(MESSAGE_STATUSES);
const Addresses = Type.Array(Type.String());
const MaybeAddresses = nullable(Addresses);

export const SendResult = Type.Object(
  { id: Id, status: words(['queued', 'sent', 'suppressed']) },
  { title: 'SendResult' },
);

const summary = {
  object: Type.Literal('email'),
  id: Id,
  from: Type.String(),
  to: Addresses,
  cc: MaybeAddresses,
  bcc: MaybeAddresses,
  reply_to: MaybeAddresses,
  subject: Type.String(),
  status: Status,
  last_event: words(LAST_EVENTS),
  message_id: nullable(Type.String()),
  scheduled_at: Type.Null(),
  created_at: Time,
};

export const EmailSummary = Type.Object(
  { ...summary, from_addr: Type.String(), to_addr: Type.String() },
  { title: 'EmailSummary' },
);

export const Email = Type.Object(
  {
    ...summary,
    html: nullable(Type.String()),
    text: nullable(Type.String()),
    tags: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
    failure_reason: nullable(Type.String()),
    log_id: nullable(Id),
    events: Type.Array(
      Type.Object({
        type: Type.String(),
        occurred_at: Time,
        payload: nullable(Type.String({ description: 'A JSON object as a string.' })),
      }),
    ),
  },
  { title: 'Email' },
);

export const OlderEmail = Type.Object(
  {
    id: Id,
    to: Addresses,
    from: Type.String(),
    subject: Type.String(),
    html: Type.String(),
    text: nullable(Type.String()),
    status: words(['queued', 'sent', 'delivered', 'bounced', 'complained', 'failed']),
    tags: Type.Record(Type.String(), Type.String()),
    createdAt: Time,
    updatedAt: Time,
  },
  { title: 'OlderEmail' },
);

export const OlderList = Type.Object(
  {
    emails: Type.Array(Type.Omit(OlderEmail, ['html', 'text'], { title: 'OlderEmailSummary' })),
    page: Type.Integer(),
    limit: Type.Integer(),
  },
  { title: 'OlderList' },
);

/** A row of the email list. */
export function emailSummary(message: Message): Static<typeof EmailSummary> {
  return {
    ...summaryOf(message),
    from_addr: bareAddress(message.from),
    to_addr: message.to.map(bareAddress).join(', '),
  };
}

/** One email in full. `body` is null when the content is no longer kept. */
export function emailDetail(
  message: Message,
  body: Texts | null,
  events: readonly Event[],
): Static<typeof Email> {
  return {
    ...summaryOf(message),
    html: body?.html ?? null,
    text: body?.text ?? null,
    tags: message.tags.map(({ name, value }) => ({ name, value })),
    failure_reason: message.failureReason,
    log_id: message.logId,
    events: events.map(({ type, occurredAt, payload }) => ({
      type,
      occurred_at: iso(occurredAt),
      payload,
    })),
  };
}

function summaryOf(message: Message) {
  return {
    object: 'email' as const,
    id: message.id,
    from: message.from,
    to: message.to,
    cc: orNull(message.cc),
    bcc: orNull(message.bcc),
    reply_to: orNull(message.replyTo),
    subject: message.subject,
    status: message.status,
    last_event: message.status,
    message_id: message.messageId,
    scheduled_at: null,
    created_at: iso(message.createdAt),
  };
}

/** A row of the older list. */
export function olderSummary(message: Message) {
  return {
    id: message.id,
    to: message.to,
    from: message.from,
    subject: message.subject,
    status: OLDER_STATUS[message.status],
    tags: Object.fromEntries(message.tags.map(({ name, value }) => [name, value])),
    createdAt: iso(message.createdAt),
    updatedAt: iso(message.updatedAt),
  };
}

/** One email in the older shape. */
export function olderEmail(message: Message, body: Texts | null): Static<typeof OlderEmail> {
  return { ...olderSummary(message), html: body?.html ?? '', text: body?.text ?? null };
}

/** The older family lacks two of the statuses (docs/contract.md C9.11). */
const OLDER_STATUS: Record<MessageStatus, Static<typeof OlderEmail>['status']> = {
  queued: 'queued',
  sent: 'sent',
  delivered: 'delivered',
  delivery_delayed: 'sent',
  bounced: 'bounced',
  complained: 'complained',
  failed: 'failed',
  suppressed: 'failed',
};

function orNull(addresses: string[]): string[] | null {
  return addresses.length === 0 ? null : addresses;
}

/** The address of `Name <a@b>`. */
function bareAddress(mailbox: string): string {
  // Between quotation marks both name and local part may have angle brackets of their own (RFC 5322 section 3.2.4).
  const parsed = mailbox.includes('"') ? parseAddress(mailbox) : null;
  if (parsed !== null && !('error' in parsed)) return addressOf(parsed);
  return /<([^<>]*)>$/.exec(mailbox)?.[1] ?? mailbox;
}
