/** Which route a request reaches, whatever its spelling, and that HEAD says what GET would. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';

import { createApi } from '../../src/api/app.ts';
import { TrustedProxies } from '../../src/api/client-address.ts';
import * as extraCa from '../../src/flow/extra-ca.ts';
import { idTime, isId } from '../../src/base/ids.ts';
import { GuardedAgent } from '../../src/wire/https/guarded-agent.ts';
import { testAuthority } from '../rig/certificates.ts';
import { TestClock } from '../rig/clock.ts';
import { openBench, type Bench } from './bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  key = await bench.key(await bench.account('app', 'fast'));
});
afterAll(() => bench.close());

test.each(['/usage', '/v1/domains', '/nowhere', '/emails/01913c7e-89ab-7cde-8f01-23456789abcd'])(
  'HEAD %s has the status and the length of GET, and no body',
  async (path) => {
    const get = await bench.ask({ path, key });
    const head = await bench.ask({ path, key, method: 'HEAD' });
    expect([head.status, head.text]).toEqual([get.status, '']);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    expect(head.headers.get('content-type')).toBe('application/json');
  },
);

test('a path is read from the request line, not from Host', async () => {
  for (const host of ['http://a', 'http://api.test:8025', 'https://mail.example.com']) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await bench.api.handle(new Request(`${host}//v1///usage`, { headers }));
    expect([host, response.status]).toEqual([host, 200]);
  }
});

test('a stop writes the requests that the log still had in memory', async () => {
  const own = await openBench();
  const account = await own.account('stops');
  const ownKey = await own.key(account);
  await own.ask({ path: '/usage', key: ownKey });
  await own.api.stop();
  const { rows } = await own.ctx.store.logs(account.id, {
    limit: 10,
    after: null,
    before: null,
    q: null,
    status: null,
    method: null,
  });
  expect(rows.map(({ path }) => path)).toEqual(['/usage']);
  await own.close();
});

test('a stop ends the connections that fetch files, and writes the rates for the next start', async () => {
  const clock = new TestClock();
  const own = await openBench({ clock });
  const destroy = spyOn(GuardedAgent.prototype, 'destroy');
  const account = await own.account('stops', 'starter');
  const ownKey = await own.key(account);
  for (let count = 0; count < 5; count += 1) {
    expect((await own.ask({ path: '/usage', key: ownKey })).status).toBe(200);
  }
  expect((await own.ask({ path: '/usage', key: ownKey })).status).toBe(429);
  expect(await own.ctx.store.setting('rate_windows')).toBeNull();
  await own.api.stop();
  expect(destroy).toHaveBeenCalledTimes(1);
  destroy.mockRestore();
  const saved = JSON.parse((await own.ctx.store.setting('rate_windows')) ?? '[]') as unknown[][];
  expect(saved.map(([name, windowMs]) => [name, windowMs])).toEqual([
    [expect.stringMatching(/^read /), 60_000],
    [expect.stringMatching(/^reads /), 60_000],
    // Of the refused one's row in the log.
    [expect.stringMatching(/^row /), 60_000],
  ]);
  const next = createApi(own.ctx, {} as never, new TrustedProxies(own.ctx));
  const usage = () =>
    next.handle(
      new Request('http://api.test/usage', { headers: { authorization: `Bearer ${ownKey}` } }),
    );
  await next.start();
  expect((await usage()).status).toBe(429);
  await clock.advance(60_000);
  expect((await usage()).status).toBe(200);
  await next.stop();
  await own.close();
});

test('files are fetched from servers of the private CA that the config names too', async () => {
  const own = await openBench();
  const { startup } = own.ctx.config;
  const read = spyOn(extraCa, 'readExtraCa');
  const config = {
    ...own.ctx.config,
    startup: { ...startup, tls: { ...startup.tls, extraCaFile: testAuthority().certFile } },
  };
  const ctx = { ...own.ctx, config } as typeof own.ctx;
  const next = createApi(ctx, {} as never, new TrustedProxies(ctx));
  expect(read.mock.calls).toEqual([[testAuthority().certFile]]);
  read.mockRestore();
  await next.stop();
  await own.close();
});

test('the rates of the API are there for others, and so is a new id', async () => {
  const own = await openBench({ clock: new TestClock() });
  const account = await own.account('shares', 'starter');
  const ownKey = await own.key(account);
  const spent = await own.ask({ path: '/email/send', key: ownKey, body: {} });
  expect(spent.headers.get('ratelimit-remaining')).toBe('1');
  expect(own.api.rates.take(`send ${account.id}`, 2, 1_000)).toMatchObject({
    isAllowed: true,
    remaining: 0,
  });
  expect((await own.ask({ path: '/email/send', key: ownKey, body: {} })).status).toBe(429);
  const [one, other] = [own.api.requestId(), own.api.requestId()];
  expect([isId(one), one < other, idTime(one)]).toEqual([true, true, own.ctx.clock.now()]);
  await own.close();
});

test.each(['/emails/%zz', '/suppressions/%E0%A4%A', '/logs/%00', '/api-keys/%2F', '/webhooks/%'])(
  'a part of %s that is no text is found nowhere',
  async (path) => {
    const { status, json } = await bench.ask({
      path,
      key,
      method: path.includes('keys') ? 'DELETE' : 'GET',
    });
    expect([status, json.code]).toEqual([404, 'not_found']);
  },
);
