/**
 * Retention: takes out what has been kept long enough, a small step at a time.
 *
 * Days that are over as a whole go with their partition (`partitions.ts`); this walks over the rest. Promises that a step
 * removes at most `ROWS_PER_STEP` messages or rows, oldest first, so that other transactions wait for none of them long,
 * and that the content of a message that still waits for delivery stays. The bytes of content that goes
 * are given back in the same transaction.
 */
import { MS_PER_DAY, hourOf } from '../counted.ts';
import type { RetentionStore } from '../retention.ts';
import type { Access, Transaction } from './database.ts';
import { boundId } from './ids.ts';
import {
  LOCK_TIMEOUT,
  dropPartition,
  makePartitions,
  partitionsOf,
  unlessLocked,
} from './partitions.ts';
import { lasting, part, together } from './statement.ts';
import type { Part } from './statement.ts';
import { addUpRest } from './sum-slots.ts';
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

/** Removes rows of `from` where `is`, in steps; `$1` is the limit. Returns how many. */
type Drop = (from: string, is: string, ...params: (string | number)[]) => Promise<number>;

const dropOn =
  (database: Access): Drop =>
  (from, is, ...params) =>
    untilFewer(ROWS_PER_STEP, () =>
      database.run(
        part(
          `DELETE FROM ${from} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${from} WHERE ${is} LIMIT $1))`,
          ROWS_PER_STEP,
          ...params,
        ),
      ),
    );

/** The verbs over the database. */
export function retentionVerbs(database: Access): Omit<RetentionStore, 'purgeLogs'> {
  const drop = dropOn(database);
  return {
    ...purgesByDay(database, drop),
    purgeMessages: (before, mayWaitMs = 0) =>
      untilFewer(MESSAGES_PER_STEP, () =>
        database.transaction((session) =>
          dropMessages(
            session,
            part(
              'SELECT m.id FROM messages AS m WHERE m.id < $1 AND m.id < (SELECT id FROM messages ORDER BY id DESC LIMIT 1)' +
                ' AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.message_id = m.id) ORDER BY m.id LIMIT $2 FOR UPDATE OF m',
              boundId(before - mayWaitMs),
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
      await addUpRest(database);
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

function purgesByDay(
  database: Access,
  drop: Drop,
): Pick<RetentionStore, 'prepareDays' | 'purgeBodies' | 'purgeHistory'> {
  return {
    prepareDays: (now) => makePartitions(database, now),
    async purgeBodies(before, mayWaitMs = 0) {
      const attachments = new Set(
        (await partitionsOf(database, 'attachments')).map(({ name }) => name),
      );
      let total = 0;
      for (const { name, day } of await partitionsOf(database, 'bodies')) {
        if (day === null || day.until > before) continue;
        const beside = name.replace('bodies', 'attachments');
        const names = { bodies: name, attachments: attachments.has(beside) ? beside : null };
        total += await dropContentOf(database, names, day);
      }
      return total + (await purgeBodies(database, before - mayWaitMs));
    },
    async purgeHistory(before, mayWaitMs = 0) {
      // Calls first: their bodies are in the events.
      let total = await drop('calls', 'id < $2', boundId(before));
      total += await drop('call_attempts', 'id < $2', boundId(before));
      const rest = before - mayWaitMs;
      for (const table of ['events', 'attempts'] as const) {
        for (const { name, day } of await partitionsOf(database, table)) {
          if (day !== null && day.until <= before) total += await dropHistoryOf(database, name);
          else if (day === null || day.from < rest)
            total += await drop(name, 'message_id < $2', boundId(rest));
        }
      }
      return total;
    },
  };
}

/** Drops a day of events or attempts; returns how many rows there were. 0: others were at it, the next round drops it. */
async function dropHistoryOf(database: Access, name: string): Promise<number> {
  const row = await database.first<{ count: number }>(
    lasting(part('SELECT count(*) AS count FROM ' + name)),
  );
  return (await dropPartition(database, name)) ? (row?.count ?? 0) : 0;
}

/** Partitions of one day. `attachments`: null where it was not made, or is gone: theirs are in the default one then. */
interface ContentDay {
  bodies: string;
  attachments: string | null;
}

/** Drops a day of content and gives its bytes back, unless something of that day still waits; returns how many bodies there were. */
async function dropContentOf(
  database: Access,
  names: ContentDay,
  day: { from: number; until: number },
): Promise<number> {
  let count: number | null = null;
  await unlessLocked(async () => {
    count = await database.transaction((session) => emptyDay(session, names, day));
  });
  // Empty ones are dropped apart from that: who drops waits for everybody at the table, who empties only for that day's.
  if (count !== null) {
    const { bodies, attachments } = names;
    const isGone = attachments === null || (await dropPartition(database, attachments));
    // Last, since the next round finds the day by it.
    if (isGone) await dropPartition(database, bodies);
  }
  return count ?? 0;
}

/** Null: something waits. */
async function emptyDay(
  session: Transaction,
  { bodies, attachments }: ContentDay,
  { from, until }: { from: number; until: number },
): Promise<number | null> {
  const both = attachments === null ? bodies : bodies + ', ' + attachments;
  await session.run(part(LOCK_TIMEOUT));
  // Nobody else takes content of that day out while it is summed up; who reads goes on.
  await session.run(part('LOCK TABLE ' + both + ' IN SHARE ROW EXCLUSIVE MODE'));
  const waiting = await session.first(
    part(
      'SELECT 1 FROM queue WHERE message_id >= $1 AND message_id < $2 LIMIT 1',
      boundId(from),
      boundId(until),
    ),
  );
  if (waiting !== null) return null;
  const gone = await session.all<{ accountId: string; bytes: number; count: number }>(
    lasting(
      part(
        'SELECT m.account_id AS "accountId", sum(b.bytes) AS bytes, count(*) AS count FROM ' +
          bodies +
          ' AS b JOIN messages AS m ON m.id = b.message_id GROUP BY m.account_id',
      ),
    ),
  );
  await session.run(part('TRUNCATE ' + both));
  if (attachments === null) {
    const ofDay = 'DELETE FROM attachments WHERE message_id >= $1 AND message_id < $2';
    await session.run(part(ofDay, boundId(from), boundId(until)));
  }
  await giveBack(session, gone);
  return gone.reduce((sum, { count }) => sum + count, 0);
}

async function giveBack(
  session: Transaction,
  gone: readonly { accountId: string; bytes: number }[],
): Promise<void> {
  const sums = new Sums(session, 'other');
  for (const { accountId, bytes } of gone) sums.stored(accountId, -bytes);
  const parts = sums.parts();
  if (parts.length > 0) await session.run(together(parts));
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
  await giveBack(session, gone);
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
