/**
 * Events and the webhook calls that they become, gathered for one transaction.
 *
 * Promises at most one call an event and endpoint; which it becomes says `event-calls.ts`. The endpoints must be read in
 * the transaction that writes, so that one made a moment before is called.
 */
import { callFor, keptBody, subscriberOf } from '../event-calls.ts';
import type { Subscriber } from '../event-calls.ts';
import { stringsOf } from '../json-columns.ts';
import type { Endpoint, NewEvent } from '../rows.ts';
import type { CallRef } from '../webhooks.ts';
import type { Session } from './database.ts';
import { insertInto, part } from './statement.ts';
import type { Part, RowOf } from './statement.ts';
import { CALLS, EVENTS } from './tables.ts';

interface SubscriberRow extends Pick<Endpoint, 'id' | 'status' | 'accountId'> {
  events: string;
}

/** The endpoints of accounts, as events see them. */
export type Subscribers = ReadonlyMap<string, readonly Subscriber[]>;

/** The endpoints of those accounts whose events could become calls. */
export async function subscribersOf(
  session: Session,
  events: readonly NewEvent[],
): Promise<Subscribers> {
  const found = new Map<string, Subscriber[]>();
  const told = events.filter(({ webhookBody }) => webhookBody !== null);
  if (told.length === 0) return found;
  const rows = await session.all<SubscriberRow>(
    part(
      'SELECT id, account_id AS "accountId", status, events FROM endpoints' +
        ' WHERE account_id = ANY($1::uuid[]) AND deleted_at IS NULL ORDER BY id',
      [...new Set(told.map(({ accountId }) => accountId))],
    ),
  );
  for (const { accountId, events: wanted, ...row } of rows) {
    const known = found.get(accountId) ?? [];
    known.push(subscriberOf({ ...row, events: stringsOf(wanted) }));
    found.set(accountId, known);
  }
  return found;
}

/** Whoever could not learn whether it was written writes it again. */
export const ONCE = 'ON CONFLICT DO NOTHING';

/** The events of one transaction. */
export class EventRows {
  readonly #subscribers: Subscribers;
  readonly #events: RowOf<typeof EVENTS>[] = [];
  readonly #calls: RowOf<typeof CALLS>[] = [];

  constructor(subscribers: Subscribers) {
    this.#subscribers = subscribers;
  }

  /** Adds `events` of one account; returns their calls, due at `dueAt` (steady time). */
  record(accountId: string, events: readonly NewEvent[], now: number, dueAt = now): CallRef[] {
    const calls: CallRef[] = [];
    for (const event of events) {
      const subscribers =
        event.webhookBody === null ? [] : (this.#subscribers.get(accountId) ?? []);
      const { messageId, id, recipientId, type, occurredAt, payload } = event;
      const webhookBody = keptBody(event, subscribers);
      this.#events.push({ messageId, id, recipientId, type, occurredAt, payload, webhookBody });
      for (const subscriber of subscribers) {
        const call = callFor(event, subscriber, dueAt);
        if (call === null) continue;
        this.#calls.push({ ...call, accountId, attempts: 0, createdAt: now });
        const { id: callId, endpointId, status } = call;
        if (status === 'open') calls.push({ id: callId, endpointId, dueAt });
      }
    }
    return calls;
  }

  /** What writes them. */
  parts(): Part[] {
    const parts: Part[] = [];
    if (this.#events.length > 0) parts.push(insertInto(EVENTS, this.#events, ONCE));
    if (this.#calls.length > 0) parts.push(insertInto(CALLS, this.#calls, ONCE));
    return parts;
  }
}
