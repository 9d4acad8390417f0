/**
 * Recording events, and one webhook call for every endpoint that wants the event, in the same commit.
 *
 * Promises that an event becomes at most one call an endpoint; which it becomes says `event-calls.ts`. Endpoints are
 * remembered per account; `forget` must follow every change of an endpoint and every undone item.
 */
import type { Database } from 'bun:sqlite';
import { callFor, keptBody, subscriberOf } from '../event-calls.ts';
import type { Subscriber } from '../event-calls.ts';
import { stringsOf } from '../json-columns.ts';
import type { Endpoint, NewEvent } from '../rows.ts';
import type { CallRef } from '../webhooks.ts';

interface SubscriberRow extends Pick<Endpoint, 'id' | 'status'> {
  events: string;
}

export class EventWriter {
  readonly #addEvent;
  readonly #addCall;
  readonly #endpoints;
  readonly #subscribers = new Map<string, Subscriber[]>();

  constructor(db: Database) {
    this.#addEvent = db.prepare(
      'INSERT INTO events (message_id, id, recipient_id, type, occurred_at, payload, webhook_body)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#addCall = db.prepare(
      'INSERT INTO calls (id, endpoint_id, account_id, event_id, event_type, message_id, status,' +
        ' attempts, next_attempt_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)',
    );
    this.#endpoints = db.prepare<SubscriberRow, [string]>(
      'SELECT id, status, events FROM endpoints WHERE account_id = ? AND deleted_at IS NULL',
    );
  }

  /** Adds `events` of one account; returns their calls, due at `dueAt` (steady time). */
  record(
    accountId: string,
    events: readonly NewEvent[],
    now: number,
    dueAt: number = now,
  ): CallRef[] {
    const calls: CallRef[] = [];
    for (const event of events) {
      const subscribers = event.webhookBody === null ? [] : this.#subscribersOf(accountId);
      this.#addEvent.run(
        event.messageId,
        event.id,
        event.recipientId,
        event.type,
        event.occurredAt,
        event.payload,
        keptBody(event, subscribers),
      );
      for (const subscriber of subscribers) {
        const call = callFor(event, subscriber, dueAt);
        if (call === null) continue;
        const { id, endpointId, status, nextAttemptAt } = call;
        this.#addCall.run(
          id,
          endpointId,
          accountId,
          call.eventId,
          call.eventType,
          call.messageId,
          status,
          nextAttemptAt,
          now,
        );
        if (status === 'open') calls.push({ id, endpointId, dueAt });
      }
    }
    return calls;
  }

  /** Endpoints changed, or a change of them was undone. */
  forget(): void {
    this.#subscribers.clear();
  }

  #subscribersOf(accountId: string): Subscriber[] {
    const known = this.#subscribers.get(accountId);
    if (known !== undefined) return known;
    const subscribers = this.#endpoints
      .all(accountId)
      .map(({ events, ...row }) => subscriberOf({ ...row, events: stringsOf(events) }));
    this.#subscribers.set(accountId, subscribers);
    return subscribers;
  }
}
