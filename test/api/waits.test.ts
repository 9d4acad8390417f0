/** What a request waits for, and a stop: nothing is answered from what may be out of date, or before it is on disk. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import { idTime } from '../../src/base/ids.ts';
import type { Account } from '../../src/store/rows.ts';
import { TestClock } from '../rig/clock.ts';
import { openBench, type Bench } from './bench.ts';

const clock = new TestClock();
let bench: Bench;
let account: Account;
let key: string;
/** What has happened, in its order. */
let seen: string[];

beforeEach(async () => {
  bench = await openBench({ clock });
  account = await bench.account('waits', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
  seen = [];
});
afterEach(() => bench.close());

const ticksLater = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Notes when a call of the store begins and when it has ended, some ticks after its work. */
function slow(name: 'keyByHash' | 'addAudit' | 'appendLogs' | 'setSetting'): void {
  const { store } = bench.ctx;
  const work = store[name].bind(store) as (...args: never[]) => Promise<unknown>;
  Reflect.set(store, name, async (...args: never[]) => {
    seen.push(`${name} begins`);
    const result = await work(...args);
    await ticksLater();
    seen.push(`${name} ends`);
    return result;
  });
}

test('whose key it is, is asked once it is known whether accounts have changed', async () => {
  const { revision, identities } = bench.ctx;
  spyOn(revision, 'check').mockImplementation(async () => {
    seen.push('check begins');
    await ticksLater();
    identities.forget();
    seen.push('check ends');
  });
  await bench.ask({ path: '/usage', key });
  seen = [];
  slow('keyByHash');
  expect((await bench.ask({ path: '/usage', key })).status).toBe(200);
  expect(seen).toEqual(['check begins', 'check ends', 'keyByHash begins', 'keyByHash ends']);
});

test('where that cannot be known nobody is let in', async () => {
  await bench.ask({ path: '/usage', key });
  spyOn(bench.ctx.revision, 'check').mockImplementation(async () => {
    await ticksLater();
    throw new Error('the database is away');
  });
  const { status, json } = await bench.ask({ path: '/usage', key });
  expect([status, json.code]).toEqual([500, 'internal_error']);
});

test('a change is answered once it stands in the audit log', async () => {
  slow('addAudit');
  expect((await bench.ask({ path: '/api-keys', key, body: { name: 'made' } })).status).toBe(201);
  expect(seen).toEqual(['addAudit begins', 'addAudit ends']);
});

test('a stop ends when the request log is written, and the rates after it', async () => {
  await bench.ask({ path: '/usage', key });
  slow('appendLogs');
  slow('setSetting');
  await bench.api.stop();
  expect(seen).toEqual([
    'appendLogs begins',
    'appendLogs ends',
    'setSetting begins',
    'setSetting ends',
  ]);
});

test('ids have the time of the clock on the wall, also after it was set forward', async () => {
  for (const jumpMs of [7_200_000, 3_600_000]) {
    clock.jump(jumpMs);
    const { headers } = await bench.ask({ path: '/usage', key });
    const id = headers.get('x-request-id') ?? '';
    clock.jump(1_000);
    const own = bench.api.requestId();
    const row = await bench.ask({ path: `/logs/${id}`, key });
    expect([id, own].map(idTime)).toEqual([clock.now() - 1_000, clock.now()]);
    expect(row.json.created_at).toBe(new Date(clock.now() - 1_000).toISOString());
  }
});
