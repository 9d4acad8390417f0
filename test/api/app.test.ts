/** Which route a request reaches, whatever its spelling, and that HEAD says what GET would. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

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
