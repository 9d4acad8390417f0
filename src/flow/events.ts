/**
 * Events: what happened to a message, and the exact bytes its webhook calls will carry.
 *
 * Promises that an event has one id for ever (it is the `webhook-id`), and that the body of its calls
 * is fixed here, once, so that every retry is equal byte for byte. Events without a webhook
 * (`email.queued`, `email.suppressed`), or of an account without endpoints, get no body. Never fails.
 */
import type { Clock } from '../base/clock.ts';
import type { IdSource } from '../base/ids.ts';
import type { EventType } from '../base/status.ts';
import type { Message, NewEvent, Recipient } from '../store/rows.ts';
import type { Subscribers } from './subscribers.ts';

/** Why a recipient's server refused. */
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
    | 'id'
    | 'accountId'
    | 'from'
    | 'to'
    | 'subject'
    | 'tags'
    | 'eventHeaders'
    | 'messageId'
    | 'createdAt'
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

/** Events that are recorded but have no webhook (docs/decisions.md D33). */
const WITHOUT_WEBHOOK: ReadonlySet<EventType> = new Set(['email.queued', 'email.suppressed']);
/** Where client libraries put their own tags and metadata, and look for them in webhook calls (lower case). */
const EVENT_HEADERS: ReadonlySet<string> = new Set(['x-tags', 'x-metadata']);
/** Most bytes of one such value: webhook bodies are kept for every event, and stay small. */
const EVENT_HEADER_BYTES = 2_048;

interface EventContext {
  clock: Clock;
  ids: IdSource;
  subscribers: Pick<Subscribers, 'mayHave'>;
}

/**
 * A new event of `input.message`, ready for the store. Draws the id from `ctx.clock`. The body is written only where
 * there may be an endpoint for it.
 */
export function newEvent(ctx: EventContext, input: EventInput): NewEvent {
  const { message, recipient, type, occurredAt, payload } = input;
  const facts = recipient === null ? payload : { recipient: recipient.address, ...payload };
  return {
    id: ctx.ids.next(ctx.clock.now()),
    messageId: message.id,
    accountId: message.accountId,
    recipientId: recipient?.id ?? null,
    type,
    occurredAt,
    payload: facts === null ? null : JSON.stringify(facts),
    webhookBody:
      WITHOUT_WEBHOOK.has(type) || !ctx.subscribers.mayHave(message.accountId)
        ? null
        : webhookBody(input),
  };
}

/** What webhook bodies repeat of a message's own header fields (docs/contract.md C13.3). */
export function eventHeadersOf(
  headers: readonly [name: string, value: string][],
): [name: string, value: string][] {
  return headers.filter(
    ([name, value]) =>
      EVENT_HEADERS.has(name.toLowerCase()) && Buffer.byteLength(value) <= EVENT_HEADER_BYTES,
  );
}

/**
 * docs/contract.md C13.2 and C13.3. `tags` is an object here, unlike in the plural API. `to` names the event's
 * recipient alone: receivers take its first entry, or all of them, as the one meant (docs/decisions.md D66).
 */
function webhookBody({ message, recipient, type, occurredAt, extra }: EventInput): string {
  return JSON.stringify({
    type,
    created_at: new Date(occurredAt).toISOString(),
    data: {
      email_id: message.id,
      created_at: new Date(message.createdAt).toISOString(),
      from: message.from,
      to: recipient === null ? message.to : [recipient.address],
      subject: message.subject,
      message_id: message.messageId,
      // fromEntries defines own properties, so that a tag named __proto__ stays a tag.
      tags: Object.fromEntries(message.tags.map((tag) => [tag.name, tag.value])),
      recipient: recipient?.address ?? null,
      ...headersIn(message),
      ...(extra !== null && 'bounce' in extra ? { bounce: shownBounce(extra.bounce) } : extra),
    },
  });
}

/** Absent when there are none, as most messages have none. */
function headersIn({ eventHeaders }: EventInput['message']): {
  headers?: { name: string; value: string }[];
} {
  if (eventHeaders.length === 0) return {};
  return { headers: eventHeaders.map(([name, value]) => ({ name, value })) };
}

/** django-anymail tells a bounce from other refusals by the words "bounce message"; the server's own come first. */
function shownBounce({ type, subType, message }: Bounce): Bounce {
  return { type, subType, message: `${message} (${type.toLowerCase()} bounce message)` };
}
