/**
 * The suppression list.
 *
 * Promises newest first; a cursor is an address or an id, and still serves when its row has been removed, because removed
 * rows stay for a while. Never shows a removed row. What replaces what says `suppression-strength.ts`.
 */
import { isId } from '../../base/ids.ts';
import type { PageOf } from '../pages.ts';
import type { Suppression } from '../rows.ts';
import { suppressionReads as singleReads } from '../sql/suppressions.ts';
import type { SuppressionStore } from '../suppressions.ts';
import type { Access } from './database.ts';
import { Group } from './group.ts';
import { idOrNull } from './ids.ts';
import { pageOf } from './lists.ts';
import { escapeLike } from './messages.ts';
import { sqlReader } from './reader.ts';
import { fieldsOf, part, selectFrom, together } from './statement.ts';
import { SuppressionRows } from './suppression-rows.ts';
import { Sums } from './sums.ts';
import { SUPPRESSIONS } from './tables.ts';

/** Rows of one step of a long write. */
const ROWS_PER_STEP = 1_000;
/** What an address counts for in a group: 4,096 go together at most. To write them keeps the event loop for some 10 ms. */
const ADDRESS_BYTES = 1_024;
const SELECT = selectFrom(SUPPRESSIONS);

/** The verbs over the database. */
export function suppressionVerbs(database: Access): SuppressionStore {
  return { ...suppressionWrites(database), ...suppressionReads(database) };
}

type Writes = Pick<SuppressionStore, 'addSuppression' | 'addSuppressions' | 'removeSuppression'>;

function suppressionWrites(database: Access): Writes {
  /** How many changed, and what stands afterwards of the first. */
  const add = (
    rows: readonly Suppression[],
  ): Promise<{ changed: number; first: Suppression | null }> =>
    database.transaction(async (session) => {
      const sums = new Sums(session, 'other');
      const writer = await SuppressionRows.read(session, rows, sums);
      const changed = rows.filter((row) => writer.add(row)).length;
      const parts = [...writer.parts(), ...sums.parts()];
      if (parts.length > 0) session.send(together(parts));
      const [first] = rows;
      return { changed, first: first === undefined ? null : writer.get(first) };
    });
  return {
    addSuppression: async (row) => (await add([row])).first ?? row,
    async addSuppressions(rows) {
      let added = 0;
      for (let at = 0; at < rows.length; at += ROWS_PER_STEP) {
        added += (await add(rows.slice(at, at + ROWS_PER_STEP))).changed;
      }
      return added;
    },
    async removeSuppression(accountId, email, now) {
      const set =
        'UPDATE suppressions SET removed_at = $1 WHERE account_id = $2 AND email = $3 AND removed_at IS NULL';
      return (await database.run(part(set, now, idOrNull(accountId), email))) === 1;
    },
  };
}

function suppressionReads(database: Access): Omit<SuppressionStore, keyof Writes> {
  // Every message asks: alone, planning the question is a quarter of what a message costs the server.
  const questions = new Group(
    (all: readonly Question[]) => suppressedOf(database, all),
    undefined,
    ({ emails }) => emails.length * ADDRESS_BYTES,
  );
  return {
    ...singleReads(sqlReader(database)),
    suppressed: (accountId, emails) => questions.add({ accountId, emails }),
    async suppressions(accountId, q, page, reason): Promise<PageOf<Suppression>> {
      const where = [part('account_id = $1 AND removed_at IS NULL', idOrNull(accountId))];
      if (reason !== undefined) where.push(part('reason = $1', reason));
      if (q !== null && q !== '')
        where.push(part('email LIKE $1', `%${escapeLike(q.toLowerCase())}%`));
      const cursor = page.before ?? page.after;
      if (cursor !== null) {
        const at = await positionOf(database, accountId, cursor);
        where.push(part(page.before === null ? 'seq < $1' : 'seq > $1', at));
      }
      return pageOf<Suppression>(database, `${SELECT} WHERE`, where, page, 'seq');
    },
  };
}

/** Which of a message's addresses are suppressed? */
interface Question {
  accountId: string;
  emails: readonly string[];
}

/** The answers to all `questions`, in their order, with one statement. */
async function suppressedOf(
  database: Access,
  questions: readonly Question[],
): Promise<Map<string, Suppression>[]> {
  const asked = questions.flatMap(({ accountId, emails }, at) =>
    emails.map((email) => ({ at, accountId: idOrNull(accountId), email })),
  );
  const rows = await database.all<Suppression & { at: number }>(
    part(
      `SELECT asked.at, ${fieldsOf(SUPPRESSIONS, 'suppressions')} FROM suppressions
       JOIN unnest($1::int4[], $2::uuid[], $3::text[]) AS asked (at, account_id, email)
         ON suppressions.account_id = asked.account_id AND suppressions.email = asked.email
       WHERE suppressions.removed_at IS NULL`,
      asked.map(({ at }) => at),
      asked.map(({ accountId }) => accountId),
      asked.map(({ email }) => email),
    ),
  );
  const answers = questions.map(() => new Map<string, Suppression>());
  for (const { at, ...row } of rows) answers[at]?.set(row.email, row);
  return answers;
}

/** A cursor that never was in the list says nothing about where to go on: the list ends there. */
async function positionOf(database: Access, accountId: string, cursor: string): Promise<number> {
  const by = isId(cursor) ? 'id' : 'email';
  const row = await database.first<{ seq: number }>(
    part(
      `SELECT seq FROM suppressions WHERE account_id = $1 AND ${by} = $2`,
      idOrNull(accountId),
      cursor,
    ),
  );
  return row?.seq ?? 0;
}
