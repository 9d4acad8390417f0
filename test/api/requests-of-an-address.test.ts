/** So many requests of one address at once: whose they are, what the next one gets, and what is kept of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from './bench.ts';

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  const { live } = bench.config;
  bench.config.replaceLive({ ...live, http: { ...live.http, requestsPerAddress: 2 } });
  const account = await bench.account('many', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
});
afterAll(() => bench.close());

/** A send whose body comes when `finish` is called. */
function slow(peer: string | null, forwarded?: string) {
  let finish = (): void => undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      finish = () => {
        controller.enqueue(Buffer.from(JSON.stringify(EMAIL)));
        controller.close();
      };
    },
  });
  const request = new Request('http://api.test/emails', {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${key}`,
      'user-agent': 'resend-go/2.0',
      ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
    },
  });
  return { response: bench.api.handle(request, peer), finish: () => finish() };
}

const usage = (peer: string | null, forwarded?: string): Promise<Response> =>
  bench.api.handle(
    new Request('http://api.test/usage', {
      headers: {
        authorization: `Bearer ${key}`,
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
      },
    }),
    peer,
  );

test.each([
  ['its own', '192.0.2.1', undefined, '192.0.2.2', undefined],
  ['the one that a proxy names', '127.0.0.1', '192.0.2.1', '127.0.0.1', '192.0.2.2'],
  ['its network of IPv6', '2001:db8::1', undefined, '2001:db9::1', undefined],
  ['none', null, undefined, '192.0.2.1', undefined],
])('the address that counts is %s', async (_, peer, forwarded, other, otherForwarded) => {
  const under = [slow(peer, forwarded), slow(peer, forwarded)];
  const refused = await usage(peer, forwarded);
  const error = {
    statusCode: 429,
    name: 'rate_limit_exceeded',
    message: 'Your address has 2 requests under way. Wait for their responses first.',
  };
  expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
    429,
    '1',
    {
      ...error,
      code: 'rate_limited',
      request_id: refused.headers.get('x-request-id'),
      error,
    },
  ]);
  // It was not asked whose key it is: nothing was spent, and nothing is logged.
  expect(refused.headers.get('ratelimit-limit')).toBeNull();
  expect((await usage(other, otherForwarded)).status).toBe(200);
  under[0]?.finish();
  expect((await under[0]?.response)?.status).toBe(200);
  expect((await usage(peer, forwarded)).status).toBe(200);
  const found = await bench.api.handle(
    new Request(`http://api.test/logs/${refused.headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${key}` },
    }),
    other,
  );
  expect(found.status).toBe(404);
  under[1]?.finish();
  expect((await under[1]?.response)?.status).toBe(200);
});

test('a route without a body of its own takes any body, and the log keeps what it was', async () => {
  const { json } = await bench.ask({ path: '/domains', key });
  const path = `/domains/${json.data[0].id}/verify`;
  const sent = await bench.ask({ path, key, raw: '{"not": json' });
  expect(sent.status).toBe(200);
  const row = await bench.ask({ path: `/logs/${sent.headers.get('x-request-id')}`, key });
  expect(row.json).toMatchObject({
    status: 200,
    request_body: '[12 characters that are not JSON]',
    response_body: sent.text,
  });
});
