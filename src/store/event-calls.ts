/**
 * Which webhook calls an event becomes: one for every endpoint that wants it.
 *
 * Promises that an endpoint which is disabled gets a call that counts as failed, so that a later replay finds what it
 * missed. Reads and writes nothing; cannot fail.
 */
import { callId } from './call-id.ts';
import type { Call, Endpoint, NewEvent } from './rows.ts';

/** An endpoint, as events see it. */
export interface Subscriber {
  id: string;
  isActive: boolean;
  /** Null: every event. */
  events: ReadonlySet<string> | null;
}

/** The call that is written; its body stands in the event, attempts there are none. */
export type NewCall = Pick<
  Call,
  'id' | 'endpointId' | 'eventId' | 'eventType' | 'messageId' | 'status' | 'nextAttemptAt'
>;

export function subscriberOf({
  id,
  status,
  events,
}: Pick<Endpoint, 'id' | 'status' | 'events'>): Subscriber {
  const isActive = status === 'active';
  return { id, isActive, events: events.length === 0 ? null : new Set(events) };
}

/** The body that is kept with the event; null where the account has no endpoint that could ask for it. */
export function keptBody(
  { webhookBody }: NewEvent,
  subscribers: readonly Subscriber[],
): string | null {
  return subscribers.length === 0 ? null : webhookBody;
}

/** The call of an event for an endpoint, due at `dueAt`; null when it does not want the event. */
export function callFor(event: NewEvent, subscriber: Subscriber, dueAt: number): NewCall | null {
  if (event.webhookBody === null) return null;
  if (subscriber.events !== null && !subscriber.events.has(event.type)) return null;
  return {
    id: callId(event.id, subscriber.id),
    endpointId: subscriber.id,
    eventId: event.id,
    eventType: event.type,
    messageId: event.messageId,
    status: subscriber.isActive ? 'open' : 'failed',
    nextAttemptAt: subscriber.isActive ? dueAt : null,
  };
}
