/** Who answers which path, in which order they are asked, and from whom a request behind a proxy comes. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';

import { openHttp } from '../../src/appliance/http.ts';
import type { Behind, Http } from '../../src/appliance/http.ts';
import * as api from '../../src/api/app.ts';
import * as health from '../../src/api/health.ts';
import * as unsubscribe from '../../src/api/unsubscribe.ts';
import * as dashboard from '../../src/dashboard/dashboard.ts';
import { SpamChecks } from '../../src/flow/upkeep/spam-checks.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';

let fixture: Fixture;
let http: Http | null;
/** What was made of which parts, and which requests came to whom. */
let made: [name: string, ...args: unknown[]][];
let asked: [name: string, client: unknown][];
const behind = { vitals: 'vitals' } as unknown as Behind;

beforeEach(async () => {
  [http, made, asked] = [null, [], []];
  fixture = await openFixture({
    toml: '[http]\nlisten = "127.0.0.1:0"\ntrusted_proxies = ["127.0.0.1/32"]\n',
  });
  const part = (
    module: object,
    name: string,
    path: string,
    client: (...args: unknown[]) => unknown,
  ) =>
    spyOn(module as Record<string, (...args: unknown[]) => unknown>, name).mockImplementation(
      (...args) => {
        made.push([name, ...args]);
        return (request: Request, ...rest: unknown[]) => {
          asked.push([name, client(...rest)]);
          return new URL(request.url).pathname === path ? new Response(name) : null;
        };
      },
    );
  part(health, 'createHealth', '/health', (peer) => peer);
  part(unsubscribe, 'createUnsubscribe', '/unsubscribe', () => null);
  part(dashboard, 'createDashboard', '/dashboard', (client) => client);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await http?.stop();
  await fixture.close();
});

test('each part is asked before the API, and the dashboard is told the client behind a trusted proxy', async () => {
  const create = spyOn(api, 'createApi');
  http = await openHttp(fixture.ctx, behind);
  const ask = async (path: string): Promise<unknown> => {
    asked = [];
    const headers = { 'x-forwarded-for': '192.0.2.7', accept: 'text/html' };
    const url = `${http?.listener.url() ?? ''}${path}`;
    const response = await fetch(url, { headers, redirect: 'manual' });
    return [response.status, asked, response.headers.get('location') ?? (await response.text())];
  };
  const toHealth = ['createHealth', '127.0.0.1'];
  const toUnsubscribe = ['createUnsubscribe', null];
  const toDashboard = ['createDashboard', '192.0.2.7'];
  expect(await ask('/health')).toEqual([200, [toHealth], 'createHealth']);
  expect(await ask('/unsubscribe')).toEqual([200, [toHealth, toUnsubscribe], 'createUnsubscribe']);
  expect(await ask('/')).toEqual([302, [toHealth, toUnsubscribe], '/dashboard']);
  const noKey = [401, [toHealth, toUnsubscribe], expect.stringContaining('"unauthorized"')];
  expect(await ask('/domains')).toEqual(noKey);
  // Its code is loaded with the first request for it.
  expect(made.map(([name]) => name)).toEqual(['createHealth', 'createUnsubscribe']);
  const all = [toHealth, toUnsubscribe, toDashboard];
  expect(await ask('/dashboard')).toEqual([200, all, 'createDashboard']);
  expect(await ask('/dashboard')).toEqual([200, all, 'createDashboard']);
  const [[of, engines, proxies] = []] = create.mock.calls;
  expect([of === fixture.ctx, engines === behind]).toEqual([true, true]);
  expect(made).toEqual([
    ['createHealth', fixture.ctx, 'vitals', proxies],
    ['createUnsubscribe', fixture.ctx],
    // The operator's certificate authorities were read at the start.
    ['createDashboard', fixture.ctx, { ...behind, spamChecks: expect.any(SpamChecks) }],
  ]);
  expect([http.rates]).toEqual(create.mock.results.map(({ value }) => (value as api.Api).rates));
});

test('rates are loaded before it listens, and saved when all requests have been answered', async () => {
  const order: string[] = [];
  const create = api.createApi;
  spyOn(api, 'createApi').mockImplementation((...args) => {
    const one = create(...args);
    const note = (name: string, work: () => Promise<void>) => async () => {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(name);
      await work();
    };
    return {
      ...one,
      start: note('loaded', () => one.start()),
      stop: note('saved', () => one.stop()),
    };
  });
  http = await openHttp(fixture.ctx, behind);
  const { listener } = http;
  order.push(`listens: ${listener.url().startsWith('http://127.0.0.1:')}`);
  const stop = listener.stop.bind(listener);
  spyOn(listener, 'stop').mockImplementation(async () => {
    await stop();
    order.push('answered');
  });
  await http.stop();
  http = null;
  expect(order).toEqual(['loaded', 'listens: true', 'answered', 'saved']);
});

test('an address that is taken is told, and nothing of it is open', async () => {
  http = await openHttp(fixture.ctx, behind);
  const { config } = fixture.ctx;
  const port = Number(new URL(http.listener.url()).port);
  const startup = { ...config.startup, http: { ...config.startup.http } };
  startup.http.listen = { host: '127.0.0.1', port };
  const ctx = { ...fixture.ctx, config: { ...config, startup } };
  const refused: unknown = await openHttp(ctx, behind).catch(String);
  expect(refused).toBe(
    `OperatorError: http.listen: 127.0.0.1 port ${port} is in use by another program`,
  );
});
