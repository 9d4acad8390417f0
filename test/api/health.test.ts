/** What monitoring reads: whether sends are accepted now, and details for those who may see them. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { TrustedProxies } from '../../src/api/client-address.ts';
import { createHealth, type Health } from '../../src/api/health.ts';
import { Vitals } from '../../src/health/vitals.ts';
import { openBench, type Bench } from './bench.ts';

let bench: Bench;
let health: Health;

beforeEach(async () => {
  bench = await openBench();
  const { ctx } = bench;
  health = createHealth(ctx, new Vitals(ctx), new TrustedProxies(ctx));
});
afterEach(() => bench.close());

/** Status and text of the response; null when it is not for monitoring. */
async function ask(
  path: string,
  {
    peer = '127.0.0.1',
    method = 'GET',
    headers = {},
  }: {
    peer?: string | null;
    method?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<[status: number, text: string] | null> {
  const response = await health(new Request(`http://api.test${path}`, { method, headers }), peer);
  return response === null ? null : [response.status, await response.text()];
}

test('ready is no more than whether a send would be accepted', async () => {
  const { ctx } = bench;
  expect(await ask('/ready', { peer: null })).toEqual([200, '{"status":"ready"}']);
  ctx.disk.isLow = true;
  expect(await ask('/ready')).toEqual([503, '{"status":"disk_low"}']);
  await ctx.halt.halt('Moving.');
  expect(await ask('/ready')).toEqual([503, '{"status":"halted"}']);
  await ctx.halt.resume();
  ctx.disk.isLow = false;
  expect(await ask('/ready')).toEqual([200, '{"status":"ready"}']);
});

test.each([
  [null, 200, 'ready'],
  ['leaving', 503, 'leaving'],
  ['database_away', 503, 'database_away'],
] as const)('a node that says %p answers %d', async (notReady, status, word) => {
  const ctx = { ...bench.ctx, node: { notReady } };
  const health = createHealth(ctx, new Vitals(bench.ctx), new TrustedProxies(bench.ctx));
  const answer = await health(new Request('http://api.test/ready'), null);
  expect([answer?.status, await answer?.json()]).toEqual([status, { status: word }]);
});

test('of several reasons that a send is refused the node’s comes first, then the halt', async () => {
  const node = { notReady: 'leaving' as string | null };
  const ctx = { ...bench.ctx, node } as typeof bench.ctx;
  const ready = createHealth(ctx, new Vitals(bench.ctx), new TrustedProxies(bench.ctx));
  const word = async (): Promise<unknown> => {
    const answer = await ready(new Request('http://api.test/ready'), null);
    const body = (await answer?.json()) as { status: string } | undefined;
    return body?.status;
  };
  bench.ctx.disk.isLow = true;
  await bench.ctx.halt.halt('Moving.');
  expect(await word()).toBe('leaving');
  node.notReady = null;
  expect(await word()).toBe('halted');
});

test('alive while halted or full: a restart would change neither', async () => {
  bench.ctx.disk.isLow = true;
  await bench.ctx.halt.halt('Moving.');
  expect(await ask('/health', { peer: '203.0.113.7' })).toEqual([200, '{"status":"ok"}']);
});

test('other paths and methods are not for it', async () => {
  for (const path of ['/', '/healthy', '/v1/health', '/metrics/x', '/emails?q=/health']) {
    expect([path, await ask(path)]).toEqual([path, null]);
  }
  expect(await ask('/health', { method: 'POST' })).toBeNull();
  for (const path of ['/ready?verbose', '/health', '/metrics', '/metrics?x']) {
    const asked = await ask(path, { method: 'HEAD' });
    expect([path, asked?.[0]]).toEqual([path, 200]);
    expect(await ask(path, { method: 'PUT' })).toBeNull();
  }
});

test.each([
  ['this machine', '127.0.0.1', {}, true],
  ['this machine by IPv6', '::1', {}, true],
  ['somebody else', '203.0.113.7', {}, false],
  ['no socket', null, {}, false],
  // The bench trusts the proxies of 127.0.0.0/8.
  ['a proxy that names a reader', '127.0.0.1', { 'x-forwarded-for': '127.0.0.9' }, true],
  ['a proxy that names somebody else', '127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }, false],
  [
    'a proxy that names a reader in each header that it writes',
    '127.0.0.1',
    { 'x-forwarded-for': '127.0.0.9', 'x-real-ip': '127.0.0.9', via: '1.1 proxy' },
    true,
  ],
  [
    'a proxy that passes on what somebody else says of himself',
    '127.0.0.1',
    { 'x-forwarded-for': '127.0.0.9, 203.0.113.7', 'x-real-ip': '127.0.0.9' },
    false,
  ],
  ['this machine as a socket for both families shows it', '::ffff:127.0.0.1', {}, true],
  ['somebody else there', '::ffff:203.0.113.7', {}, false],
  ['one that says so itself', '203.0.113.7', { 'x-forwarded-for': '127.0.0.1' }, false],
  ['a proxy nobody trusts', '::1', { 'x-forwarded-for': '127.0.0.1' }, false],
  ['a proxy with another header', '127.0.0.1', { 'x-real-ip': '127.0.0.9' }, false],
  ['a proxy of RFC 7239', '127.0.0.1', { forwarded: 'for=127.0.0.9' }, false],
  ['a cache', '127.0.0.1', { via: '1.1 cache' }, false],
] as const)('metrics are for readers alone: %s', async (_, peer, headers, isReader) => {
  const found = await ask('/metrics', { peer, headers: { ...headers } });
  expect(found === null).toBe(!isReader);
  if (isReader) expect(found?.[1]).toContain('postrider_build_info');
});

test('a reader is told when the host was checked and what is not good; others only that it lives', async () => {
  const levels = ['ok', 'warning', 'error'].map((level) => ({ level }));
  const vitals = { findings: { checkedAt: 0, findings: levels } } as unknown as Vitals;
  health = createHealth(bench.ctx, vitals, new TrustedProxies(bench.ctx));
  const [status, text] = (await ask('/health')) ?? [];
  expect([status, JSON.parse(text ?? '')]).toEqual([
    200,
    {
      status: 'ok',
      checked_at: '1970-01-01T00:00:00.000Z',
      findings: [{ level: 'warning' }, { level: 'error' }],
    },
  ]);
  expect(await ask('/health', { peer: '203.0.113.7' })).toEqual([200, '{"status":"ok"}']);
});

test('every answer has its type, and none may be stored', async () => {
  const headersOf = async (path: string): Promise<Record<string, string>> => {
    const response = await health(new Request(`http://api.test${path}`), '127.0.0.1');
    return Object.fromEntries(response?.headers ?? []);
  };
  const json = { 'content-type': 'application/json;charset=utf-8', 'cache-control': 'no-store' };
  expect([await headersOf('/health'), await headersOf('/ready')]).toEqual([json, json]);
  bench.ctx.disk.isLow = true;
  expect(await headersOf('/ready')).toEqual(json);
  expect(await headersOf('/metrics')).toEqual({
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
});

test('a node that is not ready says so before it says that sending is halted or the disk full', async () => {
  const node = { notReady: 'leaving' as const };
  bench.ctx.disk.isLow = true;
  await bench.ctx.halt.halt('Moving.');
  const ctx = { ...bench.ctx, halt: bench.ctx.halt, disk: bench.ctx.disk, node };
  health = createHealth(ctx, new Vitals(bench.ctx), new TrustedProxies(bench.ctx));
  expect(await ask('/ready')).toEqual([503, '{"status":"leaving"}']);
});

test('a host that was not checked yet is no more than alive, for readers too', async () => {
  const vitals = { findings: null } as unknown as Vitals;
  health = createHealth(bench.ctx, vitals, new TrustedProxies(bench.ctx));
  expect(await ask('/health')).toEqual([200, '{"status":"ok"}']);
});
