/**
 * Recording events, and one webhook call for every endpoint that wants the event, in the same commit.
 *
 * Promises that an event becomes at most one call an endpoint. An endpoint that is disabled gets a call
 * that counts as failed, so that a later replay finds what it missed. Endpoints are remembered per
 * account; `forget` must follow every change of an endpoint and every undone item.
 */
import type { Database } from 'bun:sqlite';
import { callId } from '../call-id.ts';
import { stringsOf } from '../json-columns.ts';
import type { NewEvent } from '../rows.ts';
import type { CallRef } from '../webhooks.ts';

interface Subscriber {
  id: string;
  isActive: boolean;
  /** Null: every event. */
  events: ReadonlySet<string> | null;
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
    this.#endpoints = db.prepare<{ id: string; status: string; events: string }, [string]>(
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
        subscribers.length === 0 ? null : event.webhookBody,
      );
      for (const subscriber of subscribers) {
        if (subscriber.events !== null && !subscriber.events.has(event.type)) continue;
        const call = this.#call(event, subscriber, { accountId, now, dueAt });
        if (subscriber.isActive) calls.push(call);
      }
    }
    return calls;
  }

  #call(
    event: NewEvent,
    subscriber: Subscriber,
    { accountId, now, dueAt }: { accountId: string; now: number; dueAt: number },
  ): CallRef {
    const id = callId(event.id, subscriber.id);
    this.#addCall.run(
      id,
      subscriber.id,
      accountId,
      event.id,
      event.type,
      event.messageId,
      subscriber.isActive ? 'open' : 'failed',
      subscriber.isActive ? dueAt : null,
      now,
    );
    return { id, endpointId: subscriber.id, dueAt };
  }

  /** Endpoints changed, or a change of them was undone. */
  forget(): void {
    this.#subscribers.clear();
  }

  #subscribersOf(accountId: string): Subscriber[] {
    const known = this.#subscribers.get(accountId);
    if (known !== undefined) return known;
    const subscribers = this.#endpoints.all(accountId).map((row) => {
      const names = stringsOf(row.events);
      return {
        id: row.id,
        isActive: row.status === 'active',
        events: names.length === 0 ? null : new Set(names),
      };
    });
    this.#subscribers.set(accountId, subscribers);
    return subscribers;
  }
}
