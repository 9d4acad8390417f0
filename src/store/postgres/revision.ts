/**
 * The revision on PostgreSQL: compared by transactions that decide by what their node remembers, raised by changes of it.
 *
 * A transaction that compares takes a shared lock first and reads the number after it (`require_revision`). A change
 * raises the number and commits; whatever compares from then on fails. What compared before holds its lock until it has
 * ended, and the change resolves only when all of these are gone (docs/decisions.md D390). Nobody waits for a change, and
 * a change waits only for what was under way. Fails with `StoreAwayError` when that does not end for `PATIENCE_MS`.
 */
import { OutdatedError } from '../revision.ts';
import type { RevisionStore } from '../revision.ts';
import { StoreAwayError } from '../store.ts';
import type { Access, Session, Transaction } from './database.ts';
import { sqlState } from './failures.ts';
import { part } from './statement.ts';

/** What `require_revision` fails with. */
const OUTDATED = 'PR001';
/** Of the lock that it takes (`migrations/postgres/0001_initial.sql`). */
const LOCK = 7_867_481;
/** A session whose node froze in a transaction is ended by the server within 30 s (`connection.ts`). */
const PATIENCE_MS = 45_000;
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 50;

/** The verbs over the database. */
export function revisionVerbs(database: Access): RevisionStore {
  return { revision: () => numberOf(database) };
}

async function numberOf(session: Session): Promise<number> {
  const row = await session.first<{ number: number }>(part('SELECT number FROM revision'));
  if (row === null) throw new Error('the database has no revision');
  return row.number;
}

/** A request that may stand on a revision. */
interface Standing {
  revision?: number | null;
}

/**
 * Runs `write` over those of `items` that stand on the present revision, or on none, in a transaction that compares it.
 * Answers the others with an `OutdatedError`; each in its position. Costs nothing more while all are up to date.
 */
export async function writeStanding<Item extends Standing, Result>(
  database: Access,
  items: readonly Item[],
  write: (session: Transaction, items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<(Result | OutdatedError)[]> {
  let expected = newestOf(items);
  for (;;) {
    const present = items.filter((item) => isPresent(item, expected));
    try {
      const results = present.length === 0 ? [] : await writeAt(database, expected, present, write);
      const left = results.values();
      return items.map((item) =>
        // `write` gives one for each.
        isPresent(item, expected)
          ? (left.next().value as Result)
          : new OutdatedError('the revision was raised'),
      );
    } catch (error) {
      if (sqlState(error) !== OUTDATED) throw error;
      expected = await numberOf(database);
    }
  }
}

/** Fails with `OUTDATED` where the revision is not `expected`; null: nothing is compared. */
function writeAt<Item, Result>(
  database: Access,
  expected: number | null,
  items: readonly Item[],
  write: (session: Transaction, items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  return database.transaction((session) => {
    // Without waiting for it: it travels with the statements that follow, and fails them.
    if (expected !== null) session.send(part('SELECT require_revision($1)', expected));
    return write(session, items);
  });
}

function newestOf(items: readonly Standing[]): number | null {
  const numbers = items.flatMap(({ revision }) => revision ?? []);
  return numbers.length === 0 ? null : Math.max(...numbers);
}

function isPresent({ revision = null }: Standing, expected: number | null): boolean {
  return revision === null || revision === expected;
}

/** Runs a change as one transaction, and raises the revision in it where `isChange` says so of its result. */
export async function raising<T>(
  database: Access,
  work: (session: Transaction) => Promise<T>,
  isChange: (result: T) => boolean = () => true,
): Promise<T> {
  const result = await database.transaction(async (session) => {
    const value = await work(session);
    // Last of all: its row is locked until the commit.
    if (isChange(value)) session.send(part('UPDATE revision SET number = number + 1'));
    return value;
  });
  if (isChange(result)) await untilOvertaken(database);
  return result;
}

/** Of a statement that changes one row: whether there was one. */
export const isOne = (changed: number): boolean => changed === 1;

/** Resolves when everything that compared the revision before has ended. */
async function untilOvertaken(database: Access): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  let holders = await holdersOf(database);
  for (let pauseMs = FIRST_PAUSE_MS; holders.length > 0; pauseMs *= 2) {
    if (performance.now() > until) {
      throw new StoreAwayError('a transaction from before the change does not end');
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, LAST_PAUSE_MS)));
    const now = new Set(await holdersOf(database));
    holders = holders.filter((holder) => now.has(holder));
  }
}

/** The transactions that hold the lock. */
async function holdersOf(database: Access): Promise<string[]> {
  const rows = await database.all<{ holder: string }>(
    part(
      `SELECT pid || ' ' || virtualtransaction AS holder FROM pg_locks WHERE locktype = 'advisory' AND granted` +
        ' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())' +
        ' AND classid = 0 AND objid::int8 = $1 AND objsubid = 1',
      LOCK,
    ),
  );
  return rows.map(({ holder }) => holder);
}
