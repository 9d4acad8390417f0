/**
 * The rows of a message that is taken: message, content, recipients and first events.
 *
 * Pure: draws ids and times, writes nothing. What happens inside the machine (suppressed and simulated
 * recipients) is finished here, so that it is in the accept commit and a crash cannot cut it in two.
 */
import { MESSAGE_STATUSES, messageStatus, type MessageStatus } from '../../base/status.ts';
import { formatAddress, type Mailbox } from '../../mail/header/address.ts';
import type { Message, NewEvent, Recipient } from '../../store/rows.ts';
import type { NewMessage } from '../../store/journey.ts';
import type { Addressee, Taken } from './decide.ts';
import { withUnsubscribe } from './unsubscribe-link.ts';
import type { Context } from '../context.ts';
import type { Draft, Sender } from '../draft.ts';
import { eventHeadersOf, newEvent } from '../events.ts';
import { simulate, type Step } from './sandbox.ts';

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
  const rows = addressees.map((addressee) => newRecipient(ctx, message, addressee, now));
  const ends = addressees.map((addressee) => endOf(addressee, now));
  const recipients = rows.map((row, index) => ({ ...row, ...ends[index]?.row }));
  // Events are shown in the order of their ids: suppressed recipients, then the queue, then what was simulated.
  const happenings = recipients.map((recipient, index) =>
    (ends[index]?.steps ?? []).map((step) => ({ ...step, recipient })),
  );
  const isLeftOut = (index: number): boolean => ends[index]?.row.status === 'suppressed';
  const suppressed = happenings.filter((_, index) => isLeftOut(index)).flat();
  const simulated = happenings.filter((_, index) => !isLeftOut(index)).flat();
  const isSuppressed = suppressed.length === recipients.length;
  const all = [...suppressed, ...(isSuppressed ? [] : [QUEUED]), ...simulated];
  const events = all.map((one) => newEvent(ctx, { ...one, message, occurredAt: now }));

  const statuses = recipients.map(({ status }) => status);
  const open = statuses.filter((status) => status === 'queued').length;
  message.status = messageStatus(statuses, open > 0, statusOf(events.at(-1)));
  message.failureReason =
    recipients.find(({ status }) => status === message.status)?.lastReason ?? null;
  const { html, text, attachments } = draft;
  const { headers, raw } = withUnsubscribe(ctx, draft, recipients[0]?.id);
  const body = { html, text, headers: withSender(headers, draft), attachments, raw };
  return {
    accepted: { message, body, recipients, events },
    result: open > 0 ? 'queued' : isSuppressed ? 'suppressed' : 'sent',
    isOpen: open > 0,
    usage: open,
  };
}

/** The event of a message that waits for delivery; it concerns no single recipient. */
const QUEUED = { type: 'email.queued', recipient: null, payload: null, extra: null } as const;

/** What a recipient ends with inside the appliance, and the events of it; null for one that is mailed. */
function endOf(
  { simulation, suppression }: Addressee,
  now: number,
): { row: Partial<Recipient>; steps: Step[] } | null {
  const reason = simulation === 'suppressed' ? 'simulated' : suppression?.reason;
  if (reason !== undefined) {
    const lastReason = `The recipient is suppressed (${reason}).`;
    const step: Step = { type: 'email.suppressed', payload: { reason }, extra: null };
    return { row: { status: 'suppressed', lastReason, nextAttemptAt: null }, steps: [step] };
  }
  if (simulation === null || simulation === 'suppressed') return null;
  const { status, reason: lastReason, steps } = simulate(simulation, now);
  return { row: { status, lastReason, attempts: 1, nextAttemptAt: null }, steps };
}

function newMessage(ctx: Context, sender: Sender, { draft, domain }: Taken, now: number): Message {
  const id = draft.id ?? ctx.ids.next(now);
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
    // Where nothing of the content stays, these do not either.
    eventHeaders: ctx.config.live.retention.bodiesMs === 0 ? [] : eventHeadersOf(draft.headers),
    messageId: draft.messageId ?? `<${id}@${ctx.config.startup.cluster.name}>`,
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
  const steadyNow = ctx.clock.steady();
  return {
    id: ctx.ids.next(now),
    messageId: message.id,
    accountId: message.accountId,
    address,
    domain,
    kind,
    status: 'queued',
    attempts: 0,
    nextAttemptAt: steadyNow,
    expiresAt: steadyNow + ctx.config.live.delivery.expiresMs,
    lastReason: null,
    delayedAt: null,
    updatedAt: now,
  };
}

/** The custom fields with the Sender in front of them, as `compose` takes it. */
function withSender(headers: Draft['headers'], { sender }: Draft): Draft['headers'] {
  return sender === undefined ? headers : [['Sender', formatAddress(sender)], ...headers];
}

function texts(mailboxes: readonly Mailbox[]): string[] {
  return mailboxes.map((mailbox) => formatAddress(mailbox));
}

/** What a message shows right after this event. */
function statusOf(event: NewEvent | undefined): MessageStatus {
  const status = MESSAGE_STATUSES.find((one) => event?.type === `email.${one}`);
  return status ?? 'queued';
}
