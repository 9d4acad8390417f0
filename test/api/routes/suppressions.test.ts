/** Suppressions in one request: all of it is done or nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { Account } from '../../../src/store/rows.ts';
import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let account: Account;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  account = await bench.account('lists');
  key = await bench.key(account);
});
afterAll(() => bench.close());

const isSuppressed = async (email: string): Promise<boolean> =>
  (await bench.ctx.store.suppression(account.id, email)) !== null;

test('one address that may not be removed refuses the removal of all', async () => {
  const [manual, other, bounced] = ['a@x.example', 'b@x.example', 'c@x.example'] as const;
  for (const email of [manual, other]) await addSuppression(bench.ctx, account.id, { email });
  await addSuppression(bench.ctx, account.id, { email: bounced, reason: 'hard_bounce' });
  const path = '/suppressions/batch/remove';
  for (const emails of [
    [manual, bounced, other],
    [bounced, manual, other],
  ]) {
    const refused = await bench.ask({ path, key, body: { emails } });
    expect([refused.status, refused.json.code]).toEqual([403, 'forbidden']);
    // Writes are made in their order: what the request began would be done before this one.
    await bench.ctx.store.setSetting('after', null);
    expect([await isSuppressed(manual), await isSuppressed(other)]).toEqual([true, true]);
  }
  const emails = [other, 'nobody@x.example', manual];
  const removed = await bench.ask({ path, key, body: { emails } });
  expect(removed.status).toBe(200);
  const gone = removed.json.data.map(({ email }: { email: string }) => email);
  expect(gone.toSorted()).toEqual([manual, other]);
  expect([await isSuppressed(manual), await isSuppressed(bounced)]).toEqual([false, true]);
});
