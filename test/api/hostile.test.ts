/**
 * Hostile input on every route that takes some: always a JSON refusal of the documented shape, never a 5xx.
 *
 * The random part prints its seed when it fails; `HOSTILE_SEED` repeats it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../src/api/routes/routes.ts';
import { seeded, type Random } from '../mail/random.ts';
import { openBench, type Bench, type Sent } from './bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('target', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});

afterAll(async () => {
  await bench.close();
  // A fault of ours would have been logged.
  expect(bench.logLines.filter((line) => line.includes('request_failed'))).toEqual([]);
});

const EMAIL = { from: 'a@own.example.com', to: 'delivered@sandbox.test', subject: 's', text: 't' };
const GOOD: Record<string, unknown> = {
  '/emails': EMAIL,
  '/email': EMAIL,
  '/email/send': EMAIL,
  '/emails/batch': [EMAIL],
  '/domains': { name: 'n.example.com' },
  '/api-keys': { name: 'n' },
  '/webhooks': { endpoint: 'https://h.example.com/', events: ['email.sent'] },
  '/suppressions': { email: 'a@example.com', reason: 'manual' },
  '/suppressions/batch/add': { emails: ['a@example.com'] },
  '/suppressions/batch/remove': { emails: ['a@example.com'] },
};
const PATHS = Object.keys(GOOD);

function expectRefusal(sent: Sent): void {
  expect(sent.status).toBeGreaterThanOrEqual(400);
  expect(sent.status).toBeLessThan(500);
  expect(Object.keys(sent.json)).toEqual(
    expect.arrayContaining(['statusCode', 'name', 'message', 'code', 'request_id', 'error']),
  );
  // No response repeats much of what was sent.
  expect(sent.text.length).toBeLessThan(40_000);
}

const post = (path: string, raw: string | Uint8Array): Promise<Sent> =>
  bench.ask({ path, key, method: 'POST', raw });

describe.each(PATHS)('POST %s', (path) => {
  test.each([
    ['deep lists', '['.repeat(100_000)],
    ['deep lists, closed', '['.repeat(50_000) + ']'.repeat(50_000)],
    ['deep objects', '{"a":'.repeat(100_000)],
    ['a deep value in a field', `{"name":${'['.repeat(200)}${']'.repeat(200)}}`],
    ['a duplicate key', JSON.stringify(GOOD[path]).replace('{', '{"name":"x","name":"y",')],
    [
      'a duplicate key in another spelling',
      JSON.stringify(GOOD[path]).replace('{', '{"name":"x","n\\u0061me":"y",'),
    ],
    ['__proto__', JSON.stringify(GOOD[path]).replace('{', '{"__proto__":{"isAdmin":true},')],
    ['an escaped __proto__', JSON.stringify(GOOD[path]).replace('{', '{"\\u005f_proto__":1,')],
    ['a number past 2^53', JSON.stringify(GOOD[path]).replace('{', '{"name":9007199254740993,')],
    ['an endless number', JSON.stringify(GOOD[path]).replace('{', '{"name":1e999,')],
    ['text', '"x"'],
    ['a number', '7'],
    ['true', 'true'],
    [
      'a key of 64 KB',
      JSON.stringify(GOOD[path]).replace(
        '{',
        `{"${'k'.repeat(65_536)}":[[[[[]]]]],"from":0,"name":0,"endpoint":0,"email":0,"emails":0,`,
      ),
    ],
    ['NUL bytes', '\0'.repeat(10)],
    ['nothing but spaces', '   '],
    ['a BOM and no JSON', '\ufeff{'],
    ['NaN', '{"a":NaN}'],
  ])('%s', async (_, raw) => {
    expectRefusal(await post(path, raw));
  });

  test('bytes that are not UTF-8 are 400', async () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf8, 0x88, 0x80, 0x80, 0x80],
    ]) {
      const sent = await post(path, Uint8Array.from(bytes));
      expectRefusal(sent);
      expect(sent.status).toBe(400);
    }
  });
});

/** Every string of a good body, one after the other, replaced by each of these. */
const EVIL_STRINGS: [string, string][] = [
  ['NUL', 'a\0b'],
  ['CR LF', 'a\r\nBcc: x@example.com'],
  ['a lone high surrogate', 'a\ud800b'],
  ['a lone low surrogate', '\udfffb'],
  ['64 KB', 'x'.repeat(65_536)],
];
/** Fields in which a line break, or 64 KB, are content. */
const FREE = ['text', 'html'];

function replaced(value: unknown, evil: string, at: string[]): { path: string; body: unknown }[] {
  if (typeof value === 'string') return [{ path: at.join('.'), body: evil }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    replaced(member, evil, [...at, name]).map(({ path, body }) => ({
      path,
      body: Array.isArray(value)
        ? value.map((item: unknown, index) => (String(index) === name ? body : item))
        : { ...value, [name]: body },
    })),
  );
}

const RICH = {
  ...EMAIL,
  from: { email: 'a@own.example.com', name: 'Name' },
  to: ['Ann <delivered@sandbox.test>', { email: 'delivered+b@sandbox.test', name: 'B' }],
  cc: 'delivered+c@sandbox.test',
  bcc: ['delivered+d@sandbox.test'],
  reply_to: 'r@example.com',
  html: '<p>x</p>',
  headers: { 'X-A': 'b' },
  tags: [{ name: 'a', value: 'b' }],
  attachments: [
    { filename: 'a.txt', content: 'YQ==', content_type: 'text/plain', content_id: 'c' },
  ],
};

describe.each(EVIL_STRINGS)('%s in every string', (name, evil) => {
  test.each([...Object.entries(GOOD), ['/emails/batch', [RICH]] as [string, unknown]])(
    'POST %s',
    async (path, good) => {
      for (const { path: field, body } of replaced(good, evil, [])) {
        const last = field.split('.').at(-1) ?? '';
        if (FREE.includes(last) && ['CR LF', '64 KB'].includes(name)) continue;
        // Base64 of 64 KB is content as well.
        if (last === 'content' && name === '64 KB') continue;
        const sent = await bench.ask({ path, key, body });
        expect({ field, status: sent.status }).toEqual({ field, status: 422 });
        expectRefusal(sent);
      }
    },
  );
});

test('hostile names in objects of text: headers and tags', async () => {
  const members = ['constructor', 'prototype', 'toString', 'hasOwnProperty'];
  for (const name of [
    '__proto__',
    ...members,
    'a\r\nb',
    'a:b',
    '',
    'ü',
    'x'.repeat(65_536),
    '\ud800',
  ]) {
    for (const field of ['headers', 'tags']) {
      // All of them are ordinary tags; as headers, the two that lead to a prototype are refused.
      const isTaken = members.slice(field === 'tags' ? 0 : 2).includes(name);
      const raw = JSON.stringify({ ...EMAIL, [field]: {} }).replace(
        `"${field}":{}`,
        `"${field}":{${JSON.stringify(name)}:"b"}`,
      );
      const sent = await post('/emails', raw);
      if (isTaken) {
        expect([field, name, sent.status]).toEqual([field, name, 200]);
      } else {
        expectRefusal(sent);
        expect(sent.status).toBe(422);
      }
    }
  }
  expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
});

test('a body with a hundred thousand faults gets a fast and short response', async () => {
  const startedAt = performance.now();
  for (const body of [
    { ...EMAIL, to: Array.from({ length: 100_000 }, () => 'bad') },
    { ...EMAIL, to: Array.from({ length: 100_000 }, () => 7) },
    {
      ...EMAIL,
      headers: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`X-${at}`, 7])),
    },
    Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`f${at}`, 1])),
  ]) {
    const sent = await bench.ask({ path: '/emails', key, body });
    expectRefusal(sent);
    expect(sent.json.detail.issues.length).toBeLessThanOrEqual(100);
  }
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

describe('queries and paths', () => {
  const lists = ROUTES.filter(
    ({ method, query, access }) => method === 'GET' && query !== null && access === 'full',
  );
  test.each(lists.map(({ path }) => path.replace(':id', '01913c7e-89ab-7cde-8f01-23456789abcd')))(
    'GET %s',
    async (path) => {
      for (const value of [
        '%00',
        'a%0d%0ab',
        '%ff%fe',
        "';drop table",
        '1e309',
        '-1',
        'x'.repeat(65_536),
        '%ud800',
      ]) {
        for (const name of [
          'limit',
          'page',
          'after',
          'before',
          'q',
          'status',
          'method',
          '__proto__',
        ]) {
          const sent = await bench.ask({ path: `${path}?${name}=${value}`, key });
          expect(sent.status).toBeLessThan(500);
          expect(sent.json).toBeDefined();
        }
      }
    },
  );

  test.each(
    ROUTES.filter(({ path }) => path.includes(':')).map(({ method, path }) => [method, path]),
  )('%s %s', async (method = '', path = '') => {
    for (const value of [
      '%00',
      '%ff',
      '..%2f..',
      '%2e%2e',
      "'",
      'x'.repeat(10_000),
      '__proto__',
      '%0d%0aX: y',
      '%',
    ]) {
      const sent = await bench.ask({
        method,
        path: path.replaceAll(/:\w+/g, value),
        key,
        ...(method !== 'GET' && { body: { name: 'a', since: new Date().toISOString() } }),
      });
      expectRefusal(sent);
    }
  });

  test('headers', async () => {
    for (const value of ['x'.repeat(70_000), 'Bearer  ', 'Bearer a b', 'bearer', 'Bearer \u00ff']) {
      expectRefusal(await bench.ask({ path: '/domains', headers: { authorization: value } }));
    }
  });
});

describe('random bodies', () => {
  const seed = Number(process.env['HOSTILE_SEED'] ?? Date.now() % 1_000_000);

  test(`seed ${seed}`, async () => {
    const random = seeded(seed);
    for (let round = 0; round < 1_500; round += 1) {
      const path = random.pick(PATHS);
      const good = path === '/emails/batch' ? [RICH] : GOOD[path];
      const raw = mutate(Buffer.from(JSON.stringify(good)), random);
      const sent = await post(path, raw);
      if (sent.status >= 500 || sent.json === undefined) {
        throw new Error(`seed ${seed}: ${path} ${sent.status} for ${raw.toString('base64')}`);
      }
    }
  }, 30_000);
});

function mutate(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = 1 + random.int(4); count > 0; count -= 1) {
    copy[random.int(copy.length)] = random.int(256);
  }
  return random.chance(0.2) ? copy.subarray(0, random.int(copy.length)) : copy;
}
