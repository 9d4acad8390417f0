/**
 * Retention: takes out what has been kept long enough, a small step at a time.
 *
 * Promises that a step removes at most `ROWS_PER_STEP` messages or rows, oldest first, so that other transactions wait for
 * none of them long, and that the content of a message that still waits for delivery stays. The bytes of content that goes
 * are given back in the same transaction.
 */
import { MS_PER_DAY, hourOf } from '../counted.ts';
import type { RetentionStore } from '../retention.ts';
import type { Access, Transaction } from './database.ts';
import { boundId } from './ids.ts';
import { part, together } from './statement.ts';
import type { Part } from './statement.ts';
import { Sums } from './sums.ts';

/** Messages of one step: their content may be large. */
const MESSAGES_PER_STEP = 100;
const ROWS_PER_STEP = 1_000;
/** A removed suppression keeps its position for cursors this long. */
const MARKS_KEPT_MS = 7 * MS_PER_DAY;
/** Charts show at most 30 days; the rest is for who reads the store itself. */
const OUTCOMES_KEPT_MS = 92 * MS_PER_DAY;
/** The brake looks at a week of whole UTC days. */
const HARM_KEPT_MS = 9 * MS_PER_DAY;

/** The verbs over the database. */
export function retentionVerbs(database: Access): Omit<RetentionStore, 'purgeLogs'> {
  /** Removes rows of `from` where `is`, in steps; `$1` is the limit. */
  const drop = (from: string, is: string, ...params: (string | number)[]): Promise<number> =>
    untilFewer(ROWS_PER_STEP, () =>
      database.run(
        part(
          `DELETE FROM ${from} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${from} WHERE ${is} LIMIT $1))`,
          ROWS_PER_STEP,
          ...params,
        ),
      ),
    );
  return {
    purgeBodies: (before) => purgeBodies(database, before),
    async purgeHistory(before) {
      const bound = boundId(before);
      // Calls first: their bodies are in the events.
      let total = await drop('calls', 'id < $2', bound);
      total += await drop('call_attempts', 'id < $2', bound);
      total += await drop('events', 'message_id < $2', bound);
      return total + (await drop('attempts', 'message_id < $2', bound));
    },
    purgeMessages: (before) =>
      untilFewer(MESSAGES_PER_STEP, () =>
        database.transaction((session) =>
          dropMessages(
            session,
            part(
              'SELECT m.id FROM messages AS m WHERE m.id < $1 AND m.id < (SELECT id FROM messages ORDER BY id DESC LIMIT 1)' +
                ' AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.message_id = m.id) ORDER BY m.id LIMIT $2 FOR UPDATE OF m',
              boundId(before),
              MESSAGES_PER_STEP,
            ),
          ),
        ),
      ),
    async purgeExpired(now, steadyNow = now) {
      let total = await drop('idempotency', 'expires_at < $2', steadyNow);
      // No other text is read as a number.
      const isExpired =
        "CASE WHEN starts_with(name, 'until:') THEN value::int8 < $2 ELSE false END";
      total += await drop('settings', isExpired, steadyNow);
      total += await drop('outcome_hours', 'hour < $2', hourOf(now - OUTCOMES_KEPT_MS));
      total += await drop('harm_hours', 'hour < $2', hourOf(now - HARM_KEPT_MS));
      total += await drop('suppressions', 'removed_at < $2', now - MARKS_KEPT_MS);
      // What nobody can ask about any more.
      await drop('commits', "at < now() - interval '1 hour'");
      await drop('rate_takes', "told_at < now() - interval '2 minutes'");
      await drop('sessions', "ended_at < now() - interval '7 days'");
      return total;
    },
    // Pages of PostgreSQL are emptied by its own vacuum; a backup of it keeps what it has copied.
    scrub: () => Promise.resolve(),
  };
}

async function purgeBodies(database: Access, before: number): Promise<number> {
  let total = 0;
  for (let after = boundId(0); ;) {
    const step = await database.transaction(async (session) => {
      const rows = await session.all<{ id: string; isOpen: boolean }>(
        part(
          'SELECT b.message_id AS id, EXISTS (SELECT 1 FROM queue AS q WHERE q.message_id = b.message_id) AS "isOpen"' +
            ' FROM bodies AS b JOIN messages AS m ON m.id = b.message_id' +
            ' WHERE b.message_id > $1 AND b.message_id < $2 AND m.created_at < $3 ORDER BY b.message_id LIMIT $4',
          after,
          boundId(before),
          before,
          MESSAGES_PER_STEP,
        ),
      );
      const ids = rows.flatMap(({ id, isOpen }) => (isOpen ? [] : [id]));
      const removed = await dropContent(session, ids);
      return { removed, next: rows.length < MESSAGES_PER_STEP ? null : rows.at(-1)?.id };
    });
    total += step.removed;
    if (step.next == null) return total;
    after = step.next;
  }
}

/** Removes the content of messages and gives its bytes back; returns how many bodies there were. */
export async function dropContent(session: Transaction, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  await session.run(part('DELETE FROM attachments WHERE message_id = ANY($1::uuid[])', ids));
  const gone = await session.all<{ accountId: string; bytes: number }>(
    part(
      'DELETE FROM bodies AS b USING messages AS m WHERE b.message_id = ANY($1::uuid[]) AND m.id = b.message_id' +
        ' RETURNING m.account_id AS "accountId", b.bytes',
      ids,
    ),
  );
  const sums = new Sums(session, 'other');
  for (const { accountId, bytes } of gone) sums.stored(accountId, -bytes);
  const parts = sums.parts();
  if (parts.length > 0) await session.run(together(parts));
  return gone.length;
}

/** Removes the messages that `which` selects and locks, with all rows that hang on them, calls too; returns how many. */
export async function dropMessages(
  session: Transaction,
  which: Part,
  withCalls = false,
): Promise<number> {
  const rows = await session.all<{ id: string }>(which);
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await dropContent(session, ids);
  const tables = ['events', 'attempts', 'recipients', 'queue'];
  if (withCalls) tables.push('calls');
  for (const name of tables) {
    await session.run(part(`DELETE FROM ${name} WHERE message_id = ANY($1::uuid[])`, ids));
  }
  return session.run(part('DELETE FROM messages WHERE id = ANY($1::uuid[])', ids));
}

/** Repeats `step` until it removes less than it may; returns the sum. */
export async function untilFewer(most: number, step: () => Promise<number>): Promise<number> {
  for (let total = 0; ;) {
    const removed = await step();
    total += removed;
    if (removed < most) return total;
  }
}
