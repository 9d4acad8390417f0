/** Where looks for due mail begin, while the queue's beginning is full of what is gone. */
import { expect, test } from 'bun:test';

import type { RecipientRef } from '../../../src/store/journey.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { DueFloor } from '../../../src/store/postgres/due-floor.ts';
import { queueVerbs } from '../../../src/store/postgres/queue.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, dueRequest, newAccount, newMessage, recipientOf } from '../samples.ts';

const NOW = 1_000_000_000_000;
const row = (dueAt: number) => ({ id: 'r', accountId: 'a', domain: 'd', dueAt, owner: null });

test('a look begins shortly before the first row of the last whole one, and thirty seconds later at the beginning', () => {
  let tick = 5;
  const floor = new DueFloor(() => tick);
  expect(floor.from(NOW)).toBe(0);
  floor.seen([row(NOW - 40_000), row(NOW)], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 55_000);
  tick += 29_999;
  expect(floor.from(NOW + 29_999)).toBe(NOW - 55_000);
  tick += 1;
  expect(floor.from(NOW + 30_000)).toBe(0);
});

test('where nothing is due it begins shortly before now; a clock that was put back begins anew', () => {
  const floor = new DueFloor(() => 0);
  floor.seen([], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 15_000);
  expect(floor.from(NOW - 20_000)).toBe(0);
});

test('what an ended session leaves free is found by the next look', () => {
  const floor = new DueFloor(() => 0);
  floor.seen([], NOW, true);
  expect(floor.from(NOW)).toBe(NOW - 15_000);
  floor.forget();
  expect(floor.from(NOW)).toBe(0);
});

test('it follows what looks find, and those between put none from the beginning off', () => {
  let tick = 0;
  const floor = new DueFloor(() => tick);
  floor.seen([], NOW, true);
  tick = 20_000;
  floor.seen([], NOW + 20_000, false);
  expect(floor.from(NOW + 20_000)).toBe(NOW + 5_000);
  floor.seen([row(NOW + 10_000)], NOW + 20_000, false);
  expect(floor.from(NOW + 20_000)).toBe(NOW - 5_000);
  tick = 30_000;
  expect(floor.from(NOW + 30_000)).toBe(0);
});

test('pages and looks at one destination begin where the others do, and move that for nobody', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: NOW });
  const database = new Database(databaseAddress(url, ''));
  let tick = 0;
  const { takeDue } = queueVerbs(database, new DueFloor(() => tick));
  const account = newAccount('default');
  await store.createAccount(account);
  const named = new Map<string, string>();
  const wait = async (name: string, dueAt: number): Promise<void> => {
    const message = newMessage(account.id, {}, [`x@${name}.example`]);
    recipientOf(message).nextAttemptAt = dueAt;
    named.set(recipientOf(await accepted(store, message)).id, name);
  };
  /** What a look finds in `afterMs`: after what is due at a time, or of one destination. */
  const found = async (afterMs: number, change: { after?: RecipientRef; only?: string } = {}) => {
    const { after = null, only } = change;
    const of =
      only === undefined ? undefined : { accountId: account.id, domain: `${only}.example` };
    const request = dueRequest('me', NOW + afterMs, { after, ...(of !== undefined && { of }) });
    return (await takeDue(request)).ours.map(({ id }) => named.get(id));
  };
  const at = (dueAt: number, id: string): RecipientRef => {
    const accountId = account.id;
    return { id, accountId, domain: '', dueAt };
  };
  const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

  expect(await found(0)).toEqual([]);
  await wait('oldest', NOW - 60_000);
  await wait('old', NOW - 15_001);
  await wait('first', NOW - 15_000);
  await wait('soon', NOW);
  // Behind the beginning there is nothing for a page to go on from, and nothing of a destination.
  expect(await found(0, { after: at(NOW - 20_000, LAST) })).toEqual(['first', 'soon']);
  expect(await found(0, { after: at(NOW - 15_000, LAST) })).toEqual(['soon']);
  expect(await found(5_000, { after: at(NOW, LAST) })).toEqual([]);
  expect(await found(5_000, { only: 'old' })).toEqual([]);
  expect(await found(5_000, { only: 'first' })).toEqual(['first']);
  tick = 29_999;
  expect(await found(5_000)).toEqual(['first', 'soon']);
  // Only a look from the beginning puts the next one off.
  tick = 30_000;
  expect(await found(5_000)).toEqual(['oldest', 'old', 'first', 'soon']);
  await Promise.all([store.close(), database.close()]);
});
