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

test('a page of the list is narrowed by part of the address and by where it came from', async () => {
  const own = await bench.account('narrowed');
  const ownKey = await bench.key(own);
  await addSuppression(bench.ctx, own.id, { email: 'ann@one.example' });
  await addSuppression(bench.ctx, own.id, { email: 'ann@two.example', reason: 'hard_bounce' });
  await addSuppression(bench.ctx, own.id, { email: 'bob@two.example', reason: 'complaint' });
  const found = async (query: string): Promise<string[]> => {
    const { json } = await bench.ask({ path: `/suppressions?${query}`, key: ownKey });
    return json.data.map(({ email }: { email: string }) => email).toSorted();
  };
  const all = ['ann@one.example', 'ann@two.example', 'bob@two.example'];
  expect(await found('limit=100')).toEqual(all);
  expect(await found('q=ann')).toEqual(all.slice(0, 2));
  expect(await found('q=two.example')).toEqual(all.slice(1));
  expect(await found('q=nobody')).toEqual([]);
  expect(await found('origin=bounce')).toEqual(all.slice(1, 2));
  expect(await found('origin=bounce&q=bob')).toEqual([]);
  expect(await found('origin=unsubscribe')).toEqual([]);
});

test('each reason has its word for client libraries, by which the list is narrowed too', async () => {
  const own = await bench.account('origins');
  const ownKey = await bench.key(own);
  for (const [reason, origin] of [
    ['hard_bounce', 'bounce'],
    ['complaint', 'complaint'],
    ['unsubscribe', 'unsubscribe'],
    ['manual', 'manual'],
  ] as const) {
    const email = `${reason}@x.example`;
    await addSuppression(bench.ctx, own.id, { email, reason });
    const one = await bench.ask({ path: `/suppressions/${email}`, key: ownKey });
    expect(one.json).toMatchObject({ email, reason, origin });
    const { json } = await bench.ask({ path: `/suppressions?origin=${origin}`, key: ownKey });
    expect(json.data).toMatchObject([{ email, reason, origin }]);
  }
});

test('an address is suppressed with a reason of the list, by default manual, and with no other', async () => {
  const own = await bench.account('reasons', 'fast');
  const key = await bench.key(own);
  const add = (body: object) => bench.ask({ path: '/suppressions', key, body });
  const made = await add({ email: 'ann@x.example', reason: 'complaint' });
  expect([made.status, made.json.reason]).toEqual([201, 'complaint']);
  expect((await add({ email: 'bob@x.example' })).json.reason).toBe('manual');
  const refused = await add({ email: 'cy@x.example', reason: 'bounce' });
  expect([refused.status, refused.json.detail.issues]).toEqual([
    422,
    [
      {
        path: 'reason',
        message: 'reason must be one of "hard_bounce", "complaint", "unsubscribe", "manual".',
      },
    ],
  ]);
});

test('a text that is no address refuses the whole list, by its position in it', async () => {
  await addSuppression(bench.ctx, account.id, { email: 'kept@x.example' });
  for (const path of ['/suppressions/batch/add', '/suppressions/batch/remove']) {
    for (const [at, emails] of [
      ['emails[0]', ['nobody', 'kept@x.example']],
      ['emails[2]', ['new@x.example', 'kept@x.example', 'nobody', 'none']],
    ] as const) {
      const { status, json } = await bench.ask({ path, key, body: { emails } });
      expect([path, status, json.detail]).toEqual([
        path,
        422,
        { issues: [{ path: at, message: `${at} must be of the form name@domain.` }] },
      ]);
    }
  }
  await bench.ctx.store.setSetting('after', null);
  expect([await isSuppressed('kept@x.example'), await isSuppressed('new@x.example')]).toEqual([
    true,
    false,
  ]);
});
