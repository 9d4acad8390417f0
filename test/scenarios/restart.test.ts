/**
 * What the compiled binary still knows after it ended, cleanly or by kill -9.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { BinaryAppliance } from '../rig/binary.ts';
import { askApi, type Ask, type Sent } from '../api/bench.ts';
import { STARTER_TOML } from './target.ts';

let appliance: BinaryAppliance;

beforeAll(async () => {
  appliance = await BinaryAppliance.start({
    config: `[delivery]\nmode = "capture"\n${STARTER_TOML}`,
  });
}, 60_000);

afterAll(() => appliance.stop());

const ask = (what: Ask): Promise<Sent> => askApi(fetch, appliance.url, what);

async function newKey(...flags: string[]): Promise<string> {
  const args = ['key', 'create', '--name', 'restart', '--permission', 'full_access', ...flags];
  return String((await appliance.json(args))['token']);
}

test('kill -9 before the response is read: the retry returns the ids that were committed', async () => {
  const key = await newKey('--account', 'default', '--test');
  const subject = `crash ${Date.now()}`;
  const body = [1, 2, 3].map((at) => ({
    from: 'a@any.example',
    to: `r${at}@example.com`,
    subject,
    text: 't',
  }));
  const headers = { 'idempotency-key': 'crash' };
  // The response is never read: what was committed is found by reading the API.
  void ask({ path: '/emails/batch', key, body, headers }).catch(() => null);
  let found: string[] = [];
  // A key may read only so often.
  for (; found.length < 3; await Bun.sleep(50)) {
    const list = await ask({ path: `/emails?q=${encodeURIComponent(subject)}`, key });
    found = list.json.data.map(({ id }: { id: string }) => id);
  }
  await appliance.signal('SIGKILL');
  await appliance.start();
  const retry = await ask({ path: '/emails/batch', key, body, headers });
  expect(retry.headers.get('idempotent-replayed')).toBe('true');
  const ids = retry.json.data.map(({ id }: { id: string }) => id);
  expect(ids.toSorted()).toEqual(found.toSorted());
}, 30_000);

test('a read limit that was used up is used up after a restart, and the log has every request', async () => {
  await appliance.json(['account', 'create', 'small', '--plan', 'starter']);
  const key = await newKey('--account', 'small');
  let last = await ask({ path: '/domains', key });
  for (let read = 1; read < 6; read += 1) last = await ask({ path: '/domains', key });
  expect(last.status).toBe(429);
  expect(await appliance.signal('SIGTERM')).toBe(0);
  await appliance.start();
  const after = await ask({ path: '/domains', key });
  expect([after.status, after.json.code]).toEqual([429, 'rate_limited']);
  const other = await newKey('--account', 'small');
  const logs = await ask({ path: '/logs?q=/domains&status=429', key: other });
  expect(logs.json.data.length).toBe(2);
}, 30_000);
