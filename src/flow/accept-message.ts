/**
 * The rows of a message that is taken: message, content, recipients and first events.
 *
 * Pure: draws ids and times, writes nothing. What happens inside the machine (suppressed and simulated
 * recipients) is finished here, so that it is in the accept commit and a crash can not cut it in two.
 */
import { newId } from '../base/ids.ts';
import { messageStatus, type MessageStatus } from '../base/status.ts';
import { formatAddress, type Mailbox } from '../mail/address.ts';
import type { Message, NewEvent, Recipient } from '../store/rows.ts';
import type { NewMessage } from '../store/store.ts';
import type { Addressee, Taken } from './accept-decide.ts';
import { withUnsubscribe } from './accept-unsubscribe.ts';
import type { Context } from './context.ts';
import type { Sender } from './draft.ts';
import { newEvent } from './events.ts';
import { simulate } from './accept-sandbox.ts';

export interface Built {
  accepted: NewMessage;
  result: 'queued' | 'sent' | 'suppressed';
  /** Whether a recipient waits for delivery. */
  isOpen: boolean;
  /** Recipients that count as usage. */
  usage: number;
}

/** Builds the rows for one taken draft. `now`: epoch milliseconds. */
export function buildMessage(ctx: Context, sender: Sender, taken: Taken, now: number): Built {
  const { draft, addressees } = taken;
  const message = newMessage(ctx, sender, taken, now);
  const recipients = addressees.map((addressee) => newRecipient(ctx, message, addressee, now));
  // Events show in the order their ids are drawn: who is left out, then the queue, then what was simulated.
  const events: NewEvent[] = [];
  recipients.forEach((recipient, place) => {
    const reason = suppressionOf(addressees[place]);
    if (reason !== null) events.push(leaveOut(ctx, message, recipient, reason, now));
  });
  const isSuppressed = events.length === recipients.length;
  if (!isSuppressed) events.push(queuedEvent(ctx, message, now));
  recipients.forEach((recipient, place) => {
    const simulation = addressees[place]?.simulation ?? null;
    if (simulation === null || simulation === 'suppressed') return;
    if (recipient.status === 'suppressed') return;
    const end = simulate(ctx, message, recipient, simulation);
    Object.assign(recipient, { status: end.status, lastReason: end.reason, attempts: 1 });
    events.push(...end.events);
  });
  for (const recipient of recipients) {
    if (recipient.status !== 'queued') recipient.nextAttemptAt = null;
  }

  const statuses = recipients.map(({ status }) => status);
  const open = statuses.filter((status) => status === 'queued').length;
  message.status = messageStatus(statuses, open > 0, statusOf(events.at(-1)));
  message.failureReason =
    recipients.find(({ status }) => status === message.status)?.lastReason ?? null;
  const { html, text, attachments } = draft;
  const { headers, raw } = withUnsubscribe(ctx, draft, recipients[0]?.id);
  const body = { html, text, headers, attachments, raw };
  return {
    accepted: { message, body, recipients, events },
    result: open > 0 ? 'queued' : isSuppressed ? 'suppressed' : 'sent',
    isOpen: open > 0,
    usage: open,
  };
}

/** Why a recipient is left out, or null. */
function suppressionOf(addressee: Addressee | undefined): string | null {
  if (addressee?.simulation === 'suppressed') return 'simulated';
  return addressee?.suppression?.reason ?? null;
}

function leaveOut(
  ctx: Context,
  message: Message,
  recipient: Recipient,
  reason: string,
  occurredAt: number,
): NewEvent {
  recipient.status = 'suppressed';
  recipient.lastReason = `The recipient is suppressed (${reason}).`;
  const payload = { reason };
  const type = 'email.suppressed';
  return newEvent(ctx, { message, recipient, type, occurredAt, payload, extra: null });
}

function queuedEvent(ctx: Context, message: Message, occurredAt: number): NewEvent {
  const type = 'email.queued';
  return newEvent(ctx, { message, recipient: null, type, occurredAt, payload: null, extra: null });
}

function newMessage(ctx: Context, sender: Sender, { draft, domain }: Taken, now: number): Message {
  const id = draft.id ?? newId(now);
  return {
    id,
    accountId: sender.account.id,
    keyId: sender.key.id,
    logId: sender.requestId,
    domainId: domain?.id ?? null,
    isSandbox: sender.key.isTest,
    from: formatAddress(draft.from),
    to: texts(draft.to),
    cc: texts(draft.cc),
    bcc: texts(draft.bcc),
    replyTo: texts(draft.replyTo),
    subject: draft.subject,
    tags: draft.tags,
    messageId: draft.messageId ?? `<${id}@${ctx.config.hostname}>`,
    status: 'queued',
    failureReason: null,
    createdAt: now,
    updatedAt: now,
  };
}

function newRecipient(
  ctx: Context,
  message: Message,
  { address, domain, kind }: Addressee,
  now: number,
): Recipient {
  return {
    id: newId(now),
    messageId: message.id,
    accountId: message.accountId,
    address,
    domain,
    kind,
    status: 'queued',
    attempts: 0,
    nextAttemptAt: now,
    expiresAt: now + ctx.config.delivery.expiresMs,
    lastReason: null,
    delayedAt: null,
    updatedAt: now,
  };
}

function texts(mailboxes: readonly Mailbox[]): string[] {
  return mailboxes.map((mailbox) => formatAddress(mailbox));
}

/** What a message shows right after this event. */
function statusOf(event: NewEvent | undefined): MessageStatus {
  return event === undefined ? 'queued' : (event.type.slice('email.'.length) as MessageStatus);
}
