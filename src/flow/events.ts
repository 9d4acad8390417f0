/**
 * Events: what happened to a message, and the exact bytes its webhook calls will carry.
 *
 * Promises that an event has one id for ever (it is the `webhook-id`), and that the body of its calls
 * is fixed here, once, so that every retry is equal byte for byte. Events without a webhook
 * (`email.queued`, `email.suppressed`), or of an account without endpoints, get no body. Never fails.
 */
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { EventType } from '../base/status.ts';
import type { Message, NewEvent, Recipient } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** Why a recipient's server refused (decisions, Status and last_event). */
export interface Bounce {
  type: 'Permanent' | 'Transient' | 'Undetermined';
  subType:
    | 'General'
    | 'NoEmail'
    | 'MailboxFull'
    | 'MessageTooLarge'
    | 'ContentRejected'
    | 'AttachmentRejected'
    | 'PolicyBlocked';
  /** The server's own reply. */
  message: string;
}

/** What one type of event says beyond the message; goes into `data` of the webhook body. */
export type EventExtra =
  | { bounce: Bounce }
  /** `next_attempt_at` in ISO 8601. */
  | { delay: { message: string; attempt: number; next_attempt_at: string } }
  | { failed: { reason: string } }
  | { complaint: { feedback_type: string } };

export interface EventInput {
  message: Pick<
    Message,
    'id' | 'accountId' | 'from' | 'to' | 'subject' | 'tags' | 'messageId' | 'createdAt'
  >;
  /** Null for what concerns the message as a whole. */
  recipient: Pick<Recipient, 'id' | 'address'> | null;
  type: EventType;
  /** Epoch milliseconds. */
  occurredAt: number;
  /** Facts for the API's `events[].payload`: reply, host, TLS, attempt. The recipient is added here. */
  payload: Record<string, unknown> | null;
  extra: EventExtra | null;
}

/** Events that are recorded but have no webhook (interface, Events). */
const WITHOUT_WEBHOOK: ReadonlySet<EventType> = new Set(['email.queued', 'email.suppressed']);

interface EventContext {
  clock: Clock;
  store: Pick<Store, 'mayHaveEndpoints'>;
}

/**
 * A new event of `input.message`, ready for the store. Draws the id from `ctx.clock`. The body is written only where
 * there may be an endpoint for it.
 */
export function newEvent(ctx: EventContext, input: EventInput): NewEvent {
  const { message, recipient, type, occurredAt, payload } = input;
  const facts = recipient === null ? payload : { recipient: recipient.address, ...payload };
  return {
    id: newId(ctx.clock.now()),
    messageId: message.id,
    accountId: message.accountId,
    recipientId: recipient?.id ?? null,
    type,
    occurredAt,
    payload: facts === null ? null : JSON.stringify(facts),
    webhookBody:
      WITHOUT_WEBHOOK.has(type) || !ctx.store.mayHaveEndpoints(message.accountId)
        ? null
        : webhookBody(input),
  };
}

/** Interface, Delivery body; decisions, Webhooks. `tags` is an object here, unlike in the plural API. */
function webhookBody({ message, recipient, type, occurredAt, extra }: EventInput): string {
  return JSON.stringify({
    type,
    created_at: new Date(occurredAt).toISOString(),
    data: {
      email_id: message.id,
      created_at: new Date(message.createdAt).toISOString(),
      from: message.from,
      to: message.to,
      subject: message.subject,
      message_id: message.messageId,
      // fromEntries defines own properties, so that a tag named __proto__ stays a tag.
      tags: Object.fromEntries(message.tags.map((tag) => [tag.name, tag.value])),
      recipient: recipient?.address ?? null,
      ...extra,
    },
  });
}
