/** Which route a request reaches: hosts of every length, folded slashes, HEAD, OPTIONS, and what the log keeps of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { ROUTES } from '../../src/api/routes/routes.ts';
import { openBench, type Bench } from './bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  key = await bench.key(await bench.account('routing', 'fast'));
});
afterAll(() => bench.close());

const ask = (url: string, init: RequestInit = {}, peer?: string): Promise<Response> =>
  bench.api.handle(
    new Request(url, { ...init, headers: { authorization: `Bearer ${key}` } }),
    ...(peer === undefined ? [] : [peer]),
  );

test.each([
  'a',
  'ab',
  'abc',
  'abcd',
  'abcde',
  'a:1',
  '1.2',
  'mail.example.com',
  '[::1]',
  '[::1]:80',
])('a route is found on %s', async (host) => {
  for (const scheme of ['http', 'https']) {
    for (const [path, status] of [
      ['/usage', 200],
      ['/v1/usage', 200],
      ['//usage', 200],
      ['/v1///usage', 200],
      ['/usage/', 200],
      ['/v2/usage', 404],
      ['/v1/v1/usage', 404],
      ['/', 404],
      ['/emails?limit=1&q=//x', 200],
      ['//emails?limit=0', 422],
    ] as const) {
      const url = `${scheme}://${host}${path}`;
      expect([url, (await ask(url)).status]).toEqual([url, status]);
    }
  }
});

test('a body arrives whole where the path was folded or the Host was short', async () => {
  for (const url of ['http://a/api-keys', 'http://mail.test//v1//api-keys']) {
    const body = JSON.stringify({ name: 'x' });
    const response = await bench.api.handle(
      new Request(url, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${key}`, 'content-length': String(body.length) },
      }),
    );
    expect([url, response.status]).toEqual([url, 201]);
  }
});

test('HEAD has the headers of GET with the length, on every kind of path', async () => {
  for (const path of [
    '/usage',
    '/docs',
    '/docs/style.css',
    '/openapi.json',
    '/nowhere',
    '//usage',
  ]) {
    const [get, head] = [
      await ask(`http://api.test${path}`),
      await ask(`http://api.test${path}`, { method: 'HEAD' }),
    ];
    const body = await get.arrayBuffer();
    const plain = (headers: Headers) => {
      const {
        'x-request-id': id,
        'ratelimit-remaining': _left,
        ...rest
      } = Object.fromEntries(headers);
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      return rest;
    };
    expect([path, head.status, await head.text()]).toEqual([path, get.status, '']);
    expect(plain(head.headers)).toEqual({
      ...plain(get.headers),
      'content-length': String(body.byteLength),
    });
  }
});

test('every route is there with and without /v1, and says with which methods', async () => {
  const methods = new Map<string, string[]>();
  for (const { method, path } of ROUTES) methods.set(path, [...(methods.get(path) ?? []), method]);
  for (const [path, offered] of methods) {
    const expected = new Set([...offered, ...(offered.includes('GET') ? ['HEAD'] : []), 'OPTIONS']);
    const filled = path.replaceAll(/:\w+/g, 'x');
    for (const prefix of ['', '/v1']) {
      const options = await ask(`http://api.test${prefix}${filled}`, { method: 'OPTIONS' });
      const { allow } = (await options.json()) as { allow: string[] };
      expect([options.status, options.headers.get('allow')]).toEqual([200, allow.join(', ')]);
      const missing = [...expected].filter((one) => !allow.includes(one));
      expect([path, missing]).toEqual([path, []]);
      const wrong = await ask(`http://api.test${prefix}${filled}`, { method: 'PUT' });
      expect([path, wrong.status, wrong.headers.get('allow')]).toEqual([
        path,
        405,
        options.headers.get('allow'),
      ]);
    }
  }
});

test('a path with a name of its own has its own methods, not those of an object of that name', async () => {
  for (const [method, path, allow] of [
    ['PATCH', '/emails/receiving', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/emails/batch', 'POST, OPTIONS'],
    ['DELETE', '/domains/claim', 'POST, GET, HEAD, OPTIONS'],
  ] as const) {
    const response = await ask(`http://api.test${path}`, { method });
    expect([path, response.status, response.headers.get('allow')]).toEqual([path, 405, allow]);
  }
  const object = await ask('http://api.test/emails/received', { method: 'PATCH' });
  expect([object.status, await object.text()]).toEqual([
    404,
    expect.stringContaining('cannot be scheduled'),
  ]);
});

test('the log keeps the path and the method as they were sent, and the client where there is a socket', async () => {
  const rowOf = async (response: Response) => {
    await response.text();
    const row = await ask(`http://api.test/logs/${response.headers.get('x-request-id')}`);
    const { method, path, endpoint, ip, status } = (await row.json()) as Record<string, unknown>;
    return [method, path, endpoint, ip, status];
  };
  const twice = (path: string): [string, string] => [path, path];
  expect(await rowOf(await ask('http://a//v1//usage?x=//y', {}, '192.0.2.7'))).toEqual([
    'GET',
    ...twice('//v1//usage'),
    '192.0.2.7',
    200,
  ]);
  expect(await rowOf(await ask('http://api.test/usage', { method: 'HEAD' }))).toEqual([
    'HEAD',
    ...twice('/usage'),
    null,
    200,
  ]);
  expect(await rowOf(await ask('http://api.test/%zz', { method: 'PUT' }, '::1'))).toEqual([
    'PUT',
    ...twice('/%zz'),
    '::1',
    404,
  ]);
});
