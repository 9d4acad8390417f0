/**
 * Computes a counter for what was stored before it was introduced, in small steps beside the running mail.
 *
 * Goes through the rows newest first. Promises a counter that is exact at every moment for the rows it has reached: what
 * changes in a row that it has not reached is not counted by the change, since the step that reaches the
 * row counts what it then finds; both run in the writer, one after the other. A crash loses no more than the step under
 * way. Rows that are too old to be shown end the computing.
 */
import type { Database } from 'bun:sqlite';
import { SANDBOX_DOMAIN } from '../../base/destination-kind.ts';
import { idBound } from '../../base/ids.ts';
import { COUNTED_TYPES, isCounted, isReal } from '../counted.ts';
import type { CountedEvent } from '../counted.ts';
import type { FinishAttempt } from '../journey.ts';
import type { OutcomeCounts } from './outcome-counts.ts';
import { RecountMark } from './recount-mark.ts';

/** The types of the counted events, as a list of SQL. */
const COUNTED_EVENTS = COUNTED_TYPES.map((type) => `'${type}'`).join(', ');

/** The recipient that has ended, and its message. */
export interface Ended {
  seq: number;
  isSandbox: number;
  domain: string;
}

/** The recount of outcomes: of the events of the messages from before `outcome_hours`. */
export class OutcomeRecount {
  readonly #counts: OutcomeCounts;
  readonly #mark: RecountMark;
  readonly #messages;
  readonly #lastHost;
  readonly #eventsOf;

  constructor(db: Database, counts: OutcomeCounts) {
    this.#counts = counts;
    this.#mark = new RecountMark(db, 'outcomes');
    this.#messages = db.prepare<{ seq: number; id: string }, [number, number]>(
      'SELECT seq, id FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT ?',
    );
    this.#lastHost = db.prepare<{ host: string | null }, [string, string]>(
      'SELECT host FROM attempts WHERE message_id = ? AND recipient_id = ? ORDER BY id DESC LIMIT 1',
    );
    this.#eventsOf = db.prepare<CountedEvent, [string, string]>(
      'SELECT r.account_id AS accountId, e.type, e.occurred_at AS occurredAt, r.domain,' +
        ' (SELECT a.host FROM attempts AS a WHERE a.message_id = e.message_id' +
        '  AND a.recipient_id = e.recipient_id AND a.ended_at <= e.occurred_at ORDER BY a.id DESC LIMIT 1) AS host' +
        ' FROM events AS e JOIN recipients AS r ON r.id = e.recipient_id' +
        ' JOIN messages AS m ON m.id = e.message_id' +
        ' WHERE e.message_id = ? AND m.is_sandbox = 0 AND r.domain <> ? AND e.type IN (' +
        COUNTED_EVENTS +
        ')',
    );
  }

  /** Counts what the end of a recipient has recorded, unless a later step will. */
  record({ attempt, events, accountId, messageId, recipientId }: FinishAttempt, of: Ended): void {
    const counted = events.filter(({ type }) => isCounted(type));
    if (counted.length === 0 || !isReal(of.isSandbox === 1, of.domain)) return;
    if (!this.#mark.isReached(of.seq)) return;
    const { host } = attempt ?? this.#lastHost.get(messageId, recipientId) ?? { host: null };
    for (const { type, occurredAt } of counted) {
      this.#counts.note({ accountId, type, occurredAt, domain: of.domain, host });
    }
  }

  /** An item or a group was undone. */
  forget(): void {
    this.#mark.forget();
  }

  /** Counts at most `limit` messages made since `oldest` (epoch milliseconds); returns how many may be left. */
  step(oldest: number, limit: number): number {
    if (this.#mark.at === 0) return 0;
    const rows = this.#messages.all(this.#mark.at, limit);
    const recent = rows.filter(({ id }) => id >= idBound(oldest));
    for (const { id } of recent) {
      for (const event of this.#eventsOf.all(id, SANDBOX_DOMAIN)) this.#counts.note(event);
    }
    this.#mark.moveTo(recent.length < limit ? 0 : (recent.at(-1)?.seq ?? 0));
    return this.#mark.at;
  }
}
