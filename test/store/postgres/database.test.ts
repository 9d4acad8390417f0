/** The few connections of a node: who gets one, who waits, what is run again, and what becomes of the rest at the end. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import type { SQL } from 'bun';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database, inOrder, transactingBy } from '../../../src/store/postgres/database.ts';
import type { Transaction } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { StoreAwayError, StoreFullError } from '../../../src/store/store.ts';
import { DatabaseProxy } from '../../rig/database-proxy.ts';
import { testServer } from '../../rig/postgres.ts';

let url = '';
let admin: SQL;
beforeAll(async () => {
  const server = await testServer();
  url = await server.freshDatabase();
  admin = server.admin(new URL(url).pathname.slice(1));
  await admin.unsafe('CREATE SEQUENCE runs; CREATE TABLE notes (word text, at serial)');
}, 60_000);
afterAll(() => admin.close());

/** Runs `body` on a database of its own, whose callers wait so long for a connection. */
async function withDatabase(
  body: (database: Database) => Promise<void>,
  patienceMs?: number,
): Promise<void> {
  const database = new Database(databaseAddress(url, ''), patienceMs);
  try {
    await body(database);
  } finally {
    await database.close();
  }
}

/** Keeps `count` transactions open; `end` lets them commit. `begun` fails as one of them does that never began. */
function holding(database: Database, count: number) {
  const { promise: over, resolve: release } = Promise.withResolvers<void>();
  const begun: Promise<number>[] = [];
  const ended = Array.from({ length: count }, () => {
    const { promise: isIn, resolve: tell } = Promise.withResolvers<number>();
    begun.push(isIn);
    return database.transaction(async (session) => {
      const row = await session.first<{ pid: number }>(part('SELECT pg_backend_pid() AS pid'));
      tell(row?.pid ?? 0);
      await over;
    });
  });
  const end = async (): Promise<PromiseSettledResult<void>[]> => {
    release();
    return Promise.allSettled(ended);
  };
  const failed = Promise.all(ended).then(() => [] as number[]);
  return { begun: Promise.race([Promise.all(begun.slice(0, 7)), failed]), end };
}

/** Ends the server's side of a connection, as an operator does. */
async function end(pid: number): Promise<void> {
  await admin.unsafe('SELECT pg_terminate_backend($1)', [pid]);
  while ((await admin.unsafe('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).length > 0);
}

const stateOf = (database: Database): unknown => {
  const { used, idle, waiting, isAway } = database.state();
  return { used, idle, waiting, isAway };
};
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'it did not fail',
    (error: unknown) => error,
  );
const wordsOf = async (work: Promise<unknown>): Promise<string> => String(await failureOf(work));

describe('connections', () => {
  test('are seven at most: an eighth transaction waits, and reads with it, until one ends', () =>
    withDatabase(async (database) => {
      const busy = holding(database, 8);
      const pids = await busy.begun;
      const reading = database.all(part('SELECT 1 AS one'));
      expect(new Set(pids).size).toBe(7);
      expect(stateOf(database)).toEqual({ used: 7, idle: 0, waiting: 2, isAway: false });
      await busy.end();
      expect(await reading).toEqual([{ one: 1 }]);
      expect(stateOf(database)).toEqual({ used: 0, idle: 7, waiting: 0, isAway: false });
      const row = await database.first<{ pid: number }>(part('SELECT pg_backend_pid() AS pid'));
      // One that there is, and no new one.
      expect(pids).toContain(row?.pid ?? 0);
    }));

  test('that nobody gives back in time are not waited for any longer, and go to the next who asks', () =>
    withDatabase(async (database) => {
      const busy = holding(database, 7);
      await busy.begun;
      const [first, second] = [database.all(part('SELECT 1')), database.first(part('SELECT 2'))];
      const away = await failureOf(first);
      expect(away).toBeInstanceOf(StoreAwayError);
      expect(String(away)).toContain('the database does not answer');
      expect(await wordsOf(second)).toBe(String(away));
      expect(stateOf(database)).toMatchObject({ used: 7, waiting: 0 });
      await busy.end();
      expect(await database.all(part('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
      expect(stateOf(database)).toEqual({ used: 0, idle: 7, waiting: 0, isAway: false });
    }, 1_000));

  test('whoever has got one in time waits for nothing any more', () =>
    withDatabase(async (database) => {
      const [set, clear] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')];
      const busy = holding(database, 7);
      await busy.begun;
      const waits = database.all(part('SELECT 1 AS one'));
      await busy.end();
      expect(await waits).toEqual([{ one: 1 }]);
      const timers = set.mock.calls.flatMap(([, ms], at) =>
        ms !== undefined && ms > 600_000 ? [set.mock.results[at]?.value] : [],
      );
      const cleared = clear.mock.calls.map(([timer]) => timer as unknown);
      set.mockRestore();
      clear.mockRestore();
      // A timer that was left would later take another one out of the line.
      expect(timers).toHaveLength(1);
      expect(cleared).toContain(timers[0]);
    }, 700_000));

  test('that are lost are replaced at once for who waits, and otherwise when they are needed', () =>
    withDatabase(async (database) => {
      const busy = holding(database, 6);
      await busy.begun;
      const [going, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
      const pid = part('SELECT pg_backend_pid() AS pid');
      const seen: number[] = [];
      const lost = database.transaction(async (session) => {
        seen.push((await session.first<{ pid: number }>(pid))?.pid ?? 0);
        gone.resolve(seen[0] ?? 0);
        await going.promise;
        return (await session.first<{ pid: number }>(pid))?.pid;
      });
      await end(await gone.promise);
      const waits = database.first<{ pid: number }>(pid);
      going.resolve();
      // Six are busy all the time: this one is new, and then serves the transaction that lost its own.
      const next = (await waits)?.pid ?? 0;
      expect(next).not.toBe(seen[0] ?? 0);
      expect([await lost, seen]).toEqual([next, [seen[0] ?? 0, next]]);
      expect(stateOf(database)).toEqual({ used: 6, idle: 1, waiting: 0, isAway: false });
      await end(next);
      expect((await database.first<{ pid: number }>(pid))?.pid).not.toBe(next);
      expect(stateOf(database)).toEqual({ used: 6, idle: 1, waiting: 0, isAway: false });
      await busy.end();
    }));

  test('that come for whoever has given up meanwhile go to the next, and nobody else leaves the line', () =>
    withDatabase(async (database) => {
      const busy = holding(database, 6);
      await busy.begun;
      const [going, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
      const pid = part('SELECT pg_backend_pid() AS pid');
      const lost = wordsOf(
        database.transaction(async (session) => {
          begun.resolve((await session.first<{ pid: number }>(pid))?.pid ?? 0);
          await going.promise;
          await session.first(pid).catch(() => undefined);
          throw new Error('of its own');
        }),
      );
      await end(await begun.promise);
      const [opens, mayOpen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const own = database.connect.bind(database);
      spyOn(database, 'connect').mockImplementation(async () => {
        opens.resolve();
        await mayOpen.promise;
        return own();
      });
      const set = spyOn(globalThis, 'setTimeout');
      const first = wordsOf(database.first(pid));
      const second = database.first<{ pid: number }>(pid);
      const giveUp = set.mock.calls.find(([, ms = 0]) => ms > 600_000)?.[0] as () => void;
      set.mockRestore();
      going.resolve();
      await opens.promise;
      expect(await lost).toBe('Error: of its own');
      // The first one's time is over before the connection that replaces the lost one is there.
      const now = spyOn(performance, 'now').mockReturnValue(performance.now() + 700_001);
      giveUp();
      expect(await first).toContain('the database does not answer');
      now.mockRestore();
      expect(stateOf(database)).toMatchObject({ used: 7, idle: 0, waiting: 1 });
      mayOpen.resolve();
      expect((await second)?.pid).not.toBe(await begun.promise);
      expect(stateOf(database)).toEqual({ used: 6, idle: 1, waiting: 0, isAway: false });
      await busy.end();
    }, 700_000));

  test('none of which is to be had any more are counted no more, and whoever waits hears of it', async () => {
    const server = await testServer();
    const proxy = new DatabaseProxy(server.socket);
    const through = url.replace(
      encodeURIComponent(server.directory),
      encodeURIComponent(proxy.directory),
    );
    const database = new Database(databaseAddress(through, ''), 300);
    const busy = holding(database, 7);
    await busy.begun;
    const waits = wordsOf(database.first(part('SELECT 1')));
    proxy.stop();
    const ends = await busy.end();
    expect(ends.map(({ status }) => status)).toEqual(Array(7).fill('rejected'));
    expect(await waits).toContain('the database does not answer');
    expect(stateOf(database)).toEqual({ used: 0, idle: 0, waiting: 0, isAway: true });
    await database.close();
  });

  test('are set up alike, whatever the server is configured to', () =>
    withDatabase(async (database) => {
      const names = [
        'application_name',
        'synchronous_commit',
        'idle_in_transaction_session_timeout',
        'client_connection_check_interval',
        'jit',
        'plan_cache_mode',
        'default_transaction_isolation',
        'TimeZone',
        'statement_timeout',
      ];
      const rows = await database.all<{ name: string; value: string }>(
        part('SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name', names),
      );
      expect(rows.map(({ value }) => value)).toEqual([
        'postrider',
        'on',
        '30s',
        '5s',
        'off',
        'force_custom_plan',
        'read committed',
        'UTC',
        '0',
      ]);
    }));
});

/** Fails in the server with this state; each run takes a number of `runs`, which no rollback gives back. */
const failing = (state: string) => async (session: Transaction) => {
  await session.first(part("SELECT nextval('runs')"));
  await session.run(part(`DO $$ BEGIN RAISE EXCEPTION 'so' USING ERRCODE = '${state}'; END $$`));
};
/** How often `work` was run. */
async function runs(work: () => Promise<unknown>): Promise<[count: number, error: unknown]> {
  await admin.unsafe("SELECT setval('runs', 1, false)");
  const error = await failureOf(work());
  const [row] = (await admin.unsafe(
    'SELECT CASE WHEN is_called THEN last_value ELSE 0 END::int4 AS count FROM runs',
  )) as { count: number }[];
  return [row?.count ?? 0, error];
}

describe('what fails', () => {
  test('by another transaction is run again, ten times in all', () =>
    withDatabase(async (database) => {
      const [count, error] = await runs(() => database.transaction(failing('40P01')));
      expect(count).toBe(10);
      expect(error).toBeInstanceOf(StoreAwayError);
      expect(String(error)).toContain('the database does not answer');
      expect(String((error as Error).cause)).toContain('so');
      let run = 0;
      const third = database.transaction(async (session) => {
        run += 1;
        if (run < 3) await failing('40001')(session);
        return run;
      });
      expect(await third).toBe(3);
      expect(stateOf(database)).toMatchObject({ used: 0, isAway: false });
    }, 0));

  test('by a full disk or by its own fault is not, and says which', () =>
    withDatabase(async (database) => {
      const [full, disk] = await runs(() => database.transaction(failing('53100')));
      expect([full, String(disk)]).toEqual([1, expect.stringContaining('disk of the database')]);
      expect(disk).toBeInstanceOf(StoreFullError);
      const [refused, fault] = await runs(() => database.transaction(failing('22012')));
      expect([refused, String(fault)]).toEqual([1, expect.stringContaining('so')]);
      const [read, zero] = await runs(() =>
        database.all(part("SELECT 1 / (nextval('runs') - 1)::int4")),
      );
      expect([read, String(zero)]).toEqual([1, expect.stringContaining('division by zero')]);
      expect(stateOf(database)).toEqual({ used: 0, idle: 1, waiting: 0, isAway: false });
    }));

  test('leaves nothing behind, and a statement that was only sent fails its transaction', () =>
    withDatabase(async (database) => {
      const add = (word: string) => part('INSERT INTO notes (word) VALUES ($1)', word);
      const late = await wordsOf(
        database.transaction(async (session) => {
          session.send(add('sent'));
          session.send(part('SELECT 1 / 0'));
          session.send(add('after'));
          return 'never told';
        }),
      );
      expect(late).toContain('division by zero');
      // What failed first is what is told, though a later one is what was waited for.
      const before = await wordsOf(
        database.transaction(async (session) => {
          session.send(part('SELECT 1 / 0'));
          await session.run(add('waited for'));
        }),
      );
      expect(before).toContain('division by zero');
      const ours = await wordsOf(
        database.transaction(async (session) => {
          await session.run(add('ours'));
          throw new Error('we changed our mind');
        }),
      );
      expect(ours).toContain('we changed our mind');
      expect(await database.all(part('SELECT word FROM notes'))).toEqual([]);
      expect(await database.run(add('kept'))).toBe(1);
      expect(await database.all(part('SELECT word FROM notes'))).toEqual([{ word: 'kept' }]);
    }));
});

test('the time since the last commit begins anew with each, and not with a read', () =>
  withDatabase(async (database) => {
    await database.first(part('SELECT pg_sleep(0.05)::text'));
    const before = database.state().sinceCommitMs;
    expect(before).toBeGreaterThan(40);
    await database.run(part("INSERT INTO notes (word) VALUES ('time')"));
    expect(database.state().sinceCommitMs).toBeLessThan(before);
  }));

test('closing ends what is under way first; then nothing is asked any more', async () => {
  const database = new Database(databaseAddress(url, ''));
  const busy = holding(database, 1);
  const [pid] = await busy.begun;
  let isClosed = false;
  const closing = database.close().then(() => (isClosed = true));
  await database.first(part('SELECT 1'));
  expect(isClosed).toBe(false);
  await busy.end();
  await closing;
  for (const late of [database.all(part('SELECT 1')), database.run(part('SELECT 1'))]) {
    expect(await wordsOf(late)).toContain('the store is closed');
  }
  while ((await admin.unsafe('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).length > 0);
});

test('changes in order begin when the one before has ended, also badly; reads wait for none', async () => {
  const steps: string[] = [];
  const waiting = new Map<string, () => void>();
  const step = async (word: string): Promise<string> => {
    steps.push(`${word} begins`);
    await new Promise<void>((resolve) => waiting.set(word, resolve));
    steps.push(`${word} ends`);
    if (word === 'bad') throw new Error(word);
    return word;
  };
  const session = { run: () => step('run').then(() => 7) } as unknown as Transaction;
  const ordered = inOrder(
    transactingBy({ all: async () => [], first: async () => null }, async (work) => work(session)),
  );
  const one = ordered.transaction(() => step('bad'));
  const two = ordered.run(part('UPDATE'));
  const three = ordered.transaction(() => step('last'));
  const drained = ordered.drained().then(() => steps.push('drained'));
  expect([await ordered.all(part('SELECT')), await ordered.first(part('SELECT'))]).toEqual([
    [],
    null,
  ]);
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const word of ['bad', 'run', 'last']) {
    await tick();
    waiting.get(word)?.();
  }
  expect(await wordsOf(one)).toBe('Error: bad');
  expect([await two, await three]).toEqual([7, 'last']);
  await drained;
  expect(steps).toEqual([
    'bad begins',
    'bad ends',
    'run begins',
    'run ends',
    'last begins',
    'last ends',
    'drained',
  ]);
});
