/** Messages counted by status: which days are in the sums, those of sandbox mail too. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import { countReads } from '../../../src/store/sqlite/read-status-counts.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const HOUR_MS = 3_600_000;
const DAY = 20_000;
const MIDNIGHT = DAY * 24 * HOUR_MS;
const NONE = {
  queued: 0,
  sent: 0,
  delivered: 0,
  delivery_delayed: 0,
  bounced: 0,
  complained: 0,
  failed: 0,
  suppressed: 0,
};
const [one, two] = [newAccount('one'), newAccount('two')];
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  for (const account of [one, two]) writer.createAccount(account);
});
afterEach(() => writer.close());

test('sandbox mail is counted from the beginning of the day that is asked for', async () => {
  const accept = (accountId: string, createdAt: number, isSandbox = true): void => {
    const id = `${idBound(createdAt)}-7000-8000-000000000000`;
    writer.accept(batchOf(accountId, newMessage(accountId, { id, createdAt, isSandbox })));
  };
  accept(one.id, MIDNIGHT - 1);
  accept(one.id, MIDNIGHT);
  accept(two.id, MIDNIGHT + 1);
  accept(one.id, MIDNIGHT + 2, false);
  accept(one.id, MIDNIGHT + 5 * HOUR_MS);
  const { sandboxCountsByStatus } = countReads(writer.mail);
  const counts = (since: number) => sandboxCountsByStatus(one.id, since);
  // Also what was made earlier on that day than the moment.
  expect(await counts(MIDNIGHT + 6 * HOUR_MS)).toEqual({ ...NONE, queued: 2 });
  expect(await counts(MIDNIGHT)).toEqual({ ...NONE, queued: 2 });
  expect(await counts(MIDNIGHT - 1)).toEqual({ ...NONE, queued: 3 });
  expect(await counts(MIDNIGHT + 24 * HOUR_MS)).toEqual(NONE);
});

test('all mail is the sum of the days from that of the moment on', async () => {
  const add = writer.mail.prepare(
    'INSERT INTO status_days (account_id, day, status, count) VALUES (?, ?, ?, ?)',
  );
  add.run(one.id, DAY - 1, 'queued', 1);
  add.run(one.id, DAY, 'queued', 2);
  add.run(one.id, DAY + 1, 'queued', 4);
  add.run(one.id, DAY, 'bounced', 8);
  add.run(two.id, DAY, 'queued', 16);
  const { countsByStatus } = countReads(writer.mail);
  expect(await countsByStatus(one.id, MIDNIGHT + 6 * HOUR_MS)).toEqual({
    ...NONE,
    queued: 6,
    bounced: 8,
  });
  expect(await countsByStatus(one.id, MIDNIGHT - 1)).toEqual({ ...NONE, queued: 7, bounced: 8 });
  expect(await countsByStatus('another', 0)).toEqual(NONE);
});
