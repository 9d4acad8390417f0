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
import type { Context } from './context.ts';
import type { Sender } from './draft.ts';
import { newEvent } from './events.ts';
import { simulate } from './sandbox.ts';

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
  const { draft } = taken;
  const message = newMessage(ctx, sender, taken, now);
  const recipients: Recipient[] = [];
  const suppressedEvents: NewEvent[] = [];
  const simulatedEvents: NewEvent[] = [];
  for (const addressee of taken.addressees) {
    const recipient = newRecipient(ctx, message, addressee, now);
    if (addressee.suppression !== null) {
      const { reason } = addressee.suppression;
      recipient.status = 'suppressed';
      recipient.lastReason = `The recipient is suppressed: ${reason}.`;
      const payload = { reason };
      suppressedEvents.push(
        newEvent(ctx, {
          message,
          recipient,
          type: 'email.suppressed',
          occurredAt: now,
          payload,
          extra: null,
        }),
      );
    } else if (addressee.simulation !== null) {
      const end = simulate(ctx, message, recipient, addressee.simulation);
      recipient.status = end.status;
      recipient.lastReason = end.reason;
      recipient.attempts = end.status === 'suppressed' ? 0 : 1;
      simulatedEvents.push(...end.events);
    }
    if (recipient.status !== 'queued') recipient.nextAttemptAt = null;
    recipients.push(recipient);
  }
  const statuses = recipients.map(({ status }) => status);
  const open = statuses.filter((status) => status === 'queued').length;
  const isSuppressed = statuses.every((status) => status === 'suppressed');
  const events = [...suppressedEvents];
  if (!isSuppressed) {
    events.push(
      newEvent(ctx, {
        message,
        recipient: null,
        type: 'email.queued',
        occurredAt: now,
        payload: null,
        extra: null,
      }),
    );
  }
  events.push(...simulatedEvents);
  message.status = messageStatus(statuses, open > 0, statusOf(simulatedEvents.at(-1)));
  message.failureReason = failureReason(message.status, recipients);
  return {
    accepted: {
      message,
      body: {
        html: draft.html,
        text: draft.text,
        headers: draft.headers,
        attachments: draft.attachments,
        raw: draft.raw,
      },
      recipients,
      events,
    },
    result: open > 0 ? 'queued' : isSuppressed ? 'suppressed' : 'sent',
    isOpen: open > 0,
    usage: open,
  };
}

function newMessage(ctx: Context, sender: Sender, { draft, domain }: Taken, now: number): Message {
  const id = newId(now);
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

/** What a message shows right after this event; `queued` when nothing was simulated. */
function statusOf(event: NewEvent | undefined): MessageStatus {
  return event === undefined ? 'queued' : (event.type.slice('email.'.length) as MessageStatus);
}

function failureReason(status: MessageStatus, recipients: readonly Recipient[]): string | null {
  return recipients.find((recipient) => recipient.status === status)?.lastReason ?? null;
}
