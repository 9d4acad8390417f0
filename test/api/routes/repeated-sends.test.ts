/** A send that is repeated with its key: what counts as the same, and what comes back. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { idempotencyOf } from '../../../src/api/routes/idempotency.ts';
import { ApiError } from '../../../src/base/errors.ts';
import { openBench, type Ask, type Bench } from '../bench.ts';

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('repeats', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
});
afterAll(() => bench.close());

const ask = (what: Ask, idempotencyKey?: string) =>
  bench.ask({
    key,
    ...what,
    headers: {
      ...what.headers,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
  });

const ROUTES: [path: string, body: unknown, status: number][] = [
  ['/emails', EMAIL, 200],
  ['/email', EMAIL, 200],
  ['/email/send', EMAIL, 202],
  ['/emails/batch', [EMAIL, EMAIL], 200],
];

test.each(ROUTES)(
  '%s gives the first response again, and sends nothing',
  async (path, body, status) => {
    const first = await ask({ path, body }, `same ${path}`);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([status, null]);
    const sent = bench.accepted.length;
    for (const again of [path, `/v1${path}`, `//v1/${path}`]) {
      const second = await ask({ path: again, body }, `same ${path}`);
      expect([second.status, second.headers.get('idempotent-replayed'), second.text]).toEqual([
        status,
        'true',
        first.text,
      ]);
      expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    }
    expect(bench.accepted).toHaveLength(sent);
    const other = await ask({ path, body }, `other ${path}`);
    expect(other.text).not.toBe(first.text);
    expect(bench.accepted.length).toBeGreaterThan(sent);
  },
);

test('the same key on another route, or with other bytes, is refused', async () => {
  for (const [path, body] of ROUTES) {
    const keyOf = `route ${path}`;
    await ask({ path, body }, keyOf);
    for (const [other, otherBody] of ROUTES) {
      if (other === path) continue;
      const { status, json } = await ask({ path: other, body: otherBody }, keyOf);
      expect([path, other, status, json.code]).toEqual([path, other, 409, 'idempotency_conflict']);
    }
    const bytes = await ask({ path, raw: `${JSON.stringify(body)} ` }, keyOf);
    expect([path, bytes.status]).toEqual([path, 409]);
  }
});

test('a batch that is sent in part comes back whole, with what was refused', async () => {
  const body = [EMAIL, { ...EMAIL, to: 'nobody' }, EMAIL];
  const headers = { 'x-batch-validation': 'permissive' };
  const path = '/emails/batch';
  const first = await ask({ path, body, headers }, 'in part');
  expect([first.status, first.json]).toEqual([
    200,
    {
      data: [
        { id: expect.any(String), status: 'queued' },
        { id: expect.any(String), status: 'queued' },
      ],
      errors: [
        {
          index: 1,
          message: '[1].to must be of the form name@domain.',
          code: 'validation_failed',
          name: 'validation_error',
        },
      ],
    },
  ]);
  expect((await ask({ path, body, headers }, 'in part')).text).toBe(first.text);
  const row = (await bench.ask({ path: `/logs/${first.headers.get('x-request-id')}`, key })).json;
  expect(row).toMatchObject({
    message_id: first.json.data[0].id,
    request_body: JSON.stringify(body),
  });
});

test('a batch of which nothing is sent, and one without faults, say so where they may be sent in part', async () => {
  const headers = { 'x-batch-validation': 'permissive' };
  const path = '/emails/batch';
  const none = await ask({ path, body: [{ ...EMAIL, to: 'nobody' }], headers });
  expect([none.status, none.json.data, none.json.errors.length]).toEqual([200, [], 1]);
  const row = (await bench.ask({ path: `/logs/${none.headers.get('x-request-id')}`, key })).json;
  expect(row.message_id).toBeNull();
  const all = await ask({ path, body: [EMAIL], headers });
  expect([all.status, all.json.data.length, all.json.errors]).toEqual([200, 1, []]);
});

test('key, route and the hash of the bytes are what a request is known by', () => {
  const call = (headers: Record<string, string>) =>
    ({ headers: new Headers(headers), bodyHash: () => 'a hash' }) as never;
  expect(idempotencyOf(call({}), 'POST /x')).toBeNull();
  expect(idempotencyOf(call({ 'idempotency-key': 'k' }), 'POST /x')).toEqual({
    key: 'k',
    route: 'POST /x',
    bodyHash: 'a hash',
  });
  for (const wrong of ['', 'k'.repeat(257)]) {
    let refusal: unknown = null;
    try {
      idempotencyOf(call({ 'idempotency-key': wrong }), 'POST /x');
    } catch (error) {
      refusal = error;
    }
    const message = 'Idempotency-Key must have 1 to 256 characters.';
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({
      status: 400,
      code: 'validation_failed',
      errorName: 'invalid_idempotency_key',
      message,
      detail: { issues: [{ path: 'Idempotency-Key', message }] },
    });
  }
});
