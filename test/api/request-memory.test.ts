/** What a request takes of the memory budget: whose it is, when it waits, and that all of it is given back. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';

import type { Account } from '../../src/store/rows.ts';
import { openBench, type Ask, type Bench, type Sent } from './bench.ts';

const MIB = 1024 * 1024;
/** Half of what large bodies may use: the most that one account has. */
const HALF = 48 * MIB;
const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };
/** Sent in chunks where it is read back. */
const LONG = { ...EMAIL, html: 'x'.repeat(300 * 1024) };

let bench: Bench;
let account: Account;
let key: string;
let other: string;
let longId: string;

beforeAll(async () => {
  bench = await openBench();
  account = await bench.account('memory', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
  const neighbour = await bench.account('neighbour', 'fast');
  await bench.domain(neighbour, 'own.example');
  other = await bench.key(neighbour);
  longId = (await bench.ask({ path: '/emails', key, body: LONG })).json.id;
});
afterEach(() => {
  expect(bench.ctx.budget.bytes).toBe(0);
  // What was under way is told once and forgotten.
  bench.ctx.doing.take();
  expect(bench.ctx.doing.take()).toBe('');
});
afterAll(() => bench.close());

const BUSY = {
  statusCode: 503,
  name: 'application_error',
  message: 'This service is handling too many large requests at the moment. Try again later.',
};

function expectBusy({ status, headers, json }: Sent): void {
  expect([status, headers.get('retry-after'), json]).toEqual([
    503,
    '5',
    { ...BUSY, code: 'platform_halted', request_id: expect.any(String), error: BUSY },
  ]);
}

test.each([
  ['a read', { path: '/emails' }, 200],
  ['a send', { path: '/emails', body: EMAIL }, 200],
  ['a long send', { path: '/emails', body: LONG }, 200],
  ['a change without a body', { path: '/domains', method: 'POST' }, 422],
  ['a body that is no JSON', { path: '/emails', raw: '{' }, 400],
  ['a refused email', { path: '/emails', body: { ...LONG, to: 'nobody' } }, 422],
  ['a refused key', { path: '/emails', body: LONG, key: 'none' }, 401],
] as [string, Ask, number][])('%s gives back what it took', async (_, what, status) => {
  expect((await bench.ask({ key, ...what })).status).toBe(status);
});

test('a request is named by its operation while it is under way', async () => {
  let named = '';
  const raw = new ReadableStream({
    pull(controller) {
      named = bench.ctx.doing.take();
      controller.enqueue(Buffer.from(JSON.stringify(EMAIL)));
      controller.close();
    },
  });
  const headers = { 'user-agent': 'resend-go/2.0' };
  expect((await bench.ask({ path: '/emails', key, raw, headers })).status).toBe(200);
  expect(named).toBe('sendEmail');
  expect(bench.ctx.doing.take()).toBe('sendEmail');
});

test('an account that has its half of the memory is refused, another is not', async () => {
  const share = bench.ctx.budget.open(account.id);
  expect(share.grow(HALF)).toBe(true);
  expectBusy(await bench.ask({ path: '/emails', key, body: LONG }));
  expectBusy(await bench.ask({ path: `/emails/${longId}`, key }));
  expect((await bench.ask({ path: '/emails', key: other, body: LONG })).status).toBe(200);
  // What is small has memory of its own.
  expect((await bench.ask({ path: '/emails', key, body: EMAIL })).status).toBe(200);
  expect((await bench.ask({ path: `/emails/${longId}/attachments`, key })).status).toBe(200);
  share.release();
  expect((await bench.ask({ path: `/emails/${longId}`, key })).json).toMatchObject({
    html: LONG.html,
  });
});

test('a HEAD of a long response has its length, and gives back what it took', async () => {
  const path = `/emails/${longId}`;
  const get = await bench.ask({ path, key });
  const head = await bench.ask({ path, key, method: 'HEAD' });
  expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
    200,
    '',
    String(Buffer.byteLength(get.text)),
  ]);
  expect(Buffer.byteLength(get.text)).toBeGreaterThan(LONG.html.length);
});

test('a long body is not worked on before the one that was before it has ended', async () => {
  const first = bench.ctx.budget.open('somebody');
  expect(first.grow(MIB)).toBe(true);
  await first.begin();
  const subject = 'waits for the one before';
  let isEnded = false;
  const body = { ...EMAIL, subject, html: 'x'.repeat(MIB) };
  const sending = bench.ask({ path: '/emails', key, body }).then((sent) => {
    isEnded = true;
    return sent;
  });
  // Smaller ones pass it, with everything that they do.
  for (let count = 0; count < 3; count += 1) {
    expect((await bench.ask({ path: '/emails', key, body: LONG })).status).toBe(200);
  }
  const found = await bench.ask({ path: `/emails?q=${encodeURIComponent(subject)}`, key });
  expect([found.json.data, isEnded]).toEqual([[], false]);
  first.release();
  expect((await sending).status).toBe(200);
});

test('a long response has its memory until it was read, a shorter one has none', async () => {
  const headers = { authorization: `Bearer ${key}` };
  const ask = (path: string) =>
    bench.api.handle(new Request(`http://api.test${path}`, { headers }));
  const long = await ask(`/emails/${longId}`);
  expect(long.headers.get('content-length')).toBeNull();
  const taken = bench.ctx.budget.bytes;
  expect(taken).toBeWithin(LONG.html.length, LONG.html.length + 2_000);
  expect((await long.text()).length).toBe(taken);
  expect(bench.ctx.budget.bytes).toBe(0);
  const left = await ask(`/emails/${longId}`);
  expect(bench.ctx.budget.bytes).toBe(taken);
  await left.body?.cancel();
  expect(bench.ctx.budget.bytes).toBe(0);
  await ask('/openapi.json').then((open) => open.text());
  await ask('/emails');
});
