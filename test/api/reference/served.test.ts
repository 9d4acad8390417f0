/** How the reference is served: the type and the headers of each part, when it is made, and what is kept of it. */
import { afterAll, afterEach, beforeAll, expect, jest, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as documents from '../../../src/api/reference/document.ts';
import { documentOf } from '../../../src/api/reference/document.ts';
import * as pages from '../../../src/api/reference/page.ts';
import { referenceRoutes } from '../../../src/api/reference/reference.ts';
import type { Call } from '../../../src/api/routes/route.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';
import { openBench, type Bench } from '../bench.ts';

let bench: Bench;

beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
afterEach(() => jest.restoreAllMocks());

const COMMON = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'x-request-id': expect.any(String),
};
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";
const PAGE = {
  ...COMMON,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

test.each([
  '/docs',
  '/docs/overview/go',
  '/docs/emails',
  '/docs/emails-older-family',
  '/v1/docs/errors/python',
  '/docs/overview/node',
])('%s is a page with its policy', async (path) => {
  const { status, headers, text } = await bench.ask({ path });
  expect([status, Object.fromEntries(headers)]).toEqual([200, PAGE]);
  expect(text).toStartWith('<!doctype html>');
});

test('the overview is the same under its name, and another language stands in its path', async () => {
  const textOf = async (path: string): Promise<string> => (await bench.ask({ path })).text;
  expect(await textOf('/docs/overview/node')).toBe(await textOf('/docs'));
  expect(await textOf('/docs/emails/node')).toBe(await textOf('/docs/emails'));
  expect(await textOf('/docs/emails/go')).not.toBe(await textOf('/docs/emails'));
});

test('the style sheet may be stored for an hour, and is the file', async () => {
  const { status, headers, text } = await bench.ask({ path: '/docs/style.css' });
  expect([status, Object.fromEntries(headers)]).toEqual([
    200,
    {
      ...COMMON,
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'content-security-policy': API_POLICY,
    },
  ]);
  const file = join(import.meta.dir, '../../../src/api/reference/docs.css');
  expect(text).toBe(readFileSync(file, 'utf8'));
});

test('the document is JSON, whole, and the same each time', async () => {
  const first = await bench.ask({ path: '/openapi.json' });
  expect([first.status, Object.fromEntries(first.headers)]).toEqual([
    200,
    { ...COMMON, 'content-type': 'application/json', 'content-security-policy': API_POLICY },
  ]);
  expect(first.json).toEqual(JSON.parse(JSON.stringify(documentOf(ROUTES))));
  expect((await bench.ask({ path: '/v1/openapi.json' })).text).toBe(first.text);
});

test.each([
  '/docs/none',
  '/docs/emails/cobol',
  '/docs/none/node',
  '/docs/overview',
  '/docs/overview/x',
])('%s is not found', async (path) => {
  const { status, json } = await bench.ask({ path });
  expect([status, json.message]).toEqual([404, 'There is no such page of the reference.']);
});

test('pages name the address of today, also after a reload', async () => {
  const { live } = bench.config;
  const path = '/docs/emails/curl';
  const at = async (publicUrl: string): Promise<boolean> => {
    bench.config.replaceLive({ ...live, http: { ...live.http, publicUrl } });
    const { text } = await bench.ask({ path });
    return text.includes('curl -X POST https://two.example/emails');
  };
  expect([
    await at('https://one.example'),
    await at('https://two.example/'),
    await at('https://one.example'),
  ]).toEqual([false, true, false]);
  bench.config.replaceLive(live);
});

test('the document is made once, and three hundred of its pages are kept', async () => {
  const documented = spyOn(documents, 'documentOf');
  const made = spyOn(pages, 'docsPage').mockImplementation((...[, slug, language, base]) =>
    slug === 'none' ? null : `${slug} ${language} ${base}`,
  );
  const routes = referenceRoutes(ROUTES);
  const route = (path: string) => routes.find((one) => one.path === path);
  const call = (publicUrl: string, part: string): Call =>
    ({ api: { ctx: { config: { live: { http: { publicUrl } } } } }, params: { part } }) as never;
  const ask = async (number: number, part = 'emails'): Promise<unknown> =>
    (await route('/docs/:part')?.handle(call(`https://${number}.example`, part)))?.body;
  for (let number = 0; number < 300; number += 1) {
    expect(await ask(number)).toBe(`emails node https://${number}.example`);
  }
  expect(made).toHaveBeenCalledTimes(300);
  // All of them are kept, and a page that there is not displaces none.
  for (const number of [0, 150, 299]) await ask(number);
  expect(made).toHaveBeenCalledTimes(300);
  expect(await ask(0, 'none').catch((error: Error) => error.message)).toBe(
    'There is no such page of the reference.',
  );
  await ask(0);
  expect(made).toHaveBeenCalledTimes(301);
  // One more, and all are made anew when they are asked for.
  await ask(300);
  await ask(300);
  expect(made).toHaveBeenCalledTimes(302);
  await ask(0);
  expect(made).toHaveBeenCalledTimes(303);
  await route('/openapi.json')?.handle(call('https://0.example', ''));
  expect(documented).toHaveBeenCalledTimes(1);
});

test('the document of a send says what a body that is no JSON gets, and which refusals say when to try again', () => {
  const { paths } = documentOf(ROUTES) as unknown as {
    paths: Record<
      string,
      { post: { responses: Record<string, { headers: object; content: object }> } }
    >;
  };
  const responses = paths['/emails']?.post.responses ?? {};
  const retried = Object.entries(responses).filter(([, { headers }]) => 'Retry-After' in headers);
  expect(retried.map(([status]) => status)).toEqual(['429', '503']);
  expect(responses['400']?.content).toMatchObject({
    'application/json': { schema: { properties: { code: { enum: ['validation_failed'] } } } },
  });
});

test('each part counts as a success in the metrics', async () => {
  const count = async (): Promise<number> => {
    const text = await bench.ctx.metrics.render();
    const line = /^postrider_http_request_seconds_count\{method="GET",status="2xx"\} (\d+)$/m;
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const before = await count();
  for (const path of [
    '/docs',
    '/docs/style.css',
    '/openapi.json',
    '/docs/errors',
    '/docs/errors/go',
  ])
    await bench.ask({ path });
  expect((await count()) - before).toBe(5);
});

test('its routes need no key and are not part of the reference', () => {
  const routes = referenceRoutes(ROUTES);
  expect(
    routes.map(({ method, path, access, query, body, isSend, text }) => [
      `${method} ${path}`,
      access,
      query,
      body,
      isSend,
      text.id,
    ]),
  ).toEqual(
    ['/openapi.json', '/docs', '/docs/style.css', '/docs/:part', '/docs/:part/:language'].map(
      (path) => [`GET ${path}`, 'open', null, null, false, ''],
    ),
  );
});
