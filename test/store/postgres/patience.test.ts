/** How long a caller of a database that is away is kept waiting, and how often the server is asked meanwhile. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { StoreAwayError } from '../../../src/store/store.ts';

const ADDRESS = databaseAddress('postgres://u@db/mail?sslmode=disable', '');
const ONE = part('SELECT 1');

afterEach(() => mock.restore());

/** The pauses between the tries; `error` is what each ends with. */
function failing(error: () => Error): { pauses: number[]; tries: () => number } {
  let now = 0;
  const pauses: number[] = [];
  spyOn(performance, 'now').mockImplementation(() => now);
  spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    pauses.push(ms);
    now += ms;
    work();
  }) as never);
  const connect = spyOn(Database.prototype, 'connect').mockImplementation(async () => {
    throw error();
  });
  return { pauses, tries: () => connect.mock.calls.length };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'it did not fail',
    (error: unknown) => error,
  );

const sumOf = (pauses: readonly number[]): number => pauses.reduce((sum, ms) => sum + ms, 0);

test('five seconds, with tries after 5 ms and then more and more seldom, four a second at last', async () => {
  for (const ask of [
    (database: Database) => database.all(ONE),
    (database: Database) => database.first(ONE),
    (database: Database) => database.run(ONE),
  ]) {
    const { pauses, tries } = failing(() => new StoreAwayError('nobody is there'));
    const database = new Database(ADDRESS);
    expect(await failureOf(ask(database))).toEqual(new StoreAwayError('nobody is there'));
    expect(pauses.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 250, 250]);
    expect(sumOf(pauses)).toBeGreaterThanOrEqual(5_000);
    expect(sumOf(pauses)).toBeLessThan(5_250);
    expect(tries()).toBe(pauses.length + 1);
    expect(database.state()).toMatchObject({ used: 0, idle: 0, waiting: 0, isAway: true });
    mock.restore();
  }
});

test('or as long as it was told; a fault of ours is not tried again', async () => {
  const away = failing(() => new StoreAwayError('nobody is there'));
  await failureOf(new Database(ADDRESS, 0).all(ONE));
  expect([away.tries(), away.pauses]).toEqual([1, []]);
  await failureOf(new Database(ADDRESS, 300).all(ONE));
  expect(away.pauses).toEqual([5, 10, 20, 40, 80, 160]);
  mock.restore();

  const ours = failing(() => new RangeError('a fault'));
  expect(await failureOf(new Database(ADDRESS).all(ONE))).toEqual(new RangeError('a fault'));
  expect([ours.tries(), ours.pauses]).toEqual([1, []]);
});
