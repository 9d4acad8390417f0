/**
 * The request log: what is in a row, and what never is.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { clientAddress } from '../../../src/api/client-address.ts';
import { logBody } from '../../../src/api/log/redaction.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import { openBench, type Bench, type Sent } from '../bench.ts';

let bench: Bench;
let key: string;
let send: string;
let accountId: string;

beforeAll(async () => {
  bench = await openBench();
  const account = await bench.account('logged', 'fast');
  await bench.domain(account, 'own.example.com');
  accountId = account.id;
  key = await bench.key(account);
  send = await bench.key(account, 'sending_access');
});

afterAll(() => bench.close());

const EMAIL = { from: 'a@own.example.com', to: 'delivered@sandbox.test', subject: 's', text: 't' };
const rowOf = (sent: Sent): Promise<Sent> =>
  bench.ask({ path: `/logs/${sent.headers.get('x-request-id')}`, key });

test('of a path and a user agent 2,048 characters are kept', async () => {
  const sent = await bench.ask({
    path: `/${'p'.repeat(5_000)}`,
    key,
    headers: { 'user-agent': 'a'.repeat(5_000) },
  });
  const { json } = await rowOf(sent);
  expect([json.path, json.user_agent]).toEqual([`/${'p'.repeat(2_047)}`, 'a'.repeat(2_048)]);
});

test.each([
  ['send', 'sending_access'],
  ['full', 'full_access'],
])('a full record has every field of the contract, of a key that may %s', async (scope, name) => {
  const by = scope === 'send' ? send : key;
  const sent = await bench.ask({
    path: '/v1/emails',
    key: by,
    body: EMAIL,
    headers: { 'user-agent': 'shop/1.0' },
  });
  const { json } = await rowOf(sent);
  const keys = await bench.ctx.store.keys(accountId);
  const stored = await bench.ctx.store.log(accountId, json.id);
  expect(json).toEqual({
    object: 'log',
    id: sent.headers.get('x-request-id'),
    method: 'POST',
    path: '/v1/emails',
    endpoint: '/v1/emails',
    status: 200,
    response_status: 200,
    duration_ms: stored?.durationMs,
    message_id: sent.json.id,
    key_name: 'bench',
    key_scope: scope,
    user_agent: 'shop/1.0',
    created_at: new Date(stored?.createdAt ?? 0).toISOString(),
    account_id: accountId,
    key_id: keys.find(({ permission }) => permission === name)?.id,
    ip: '127.0.0.1',
    request_body: JSON.stringify(EMAIL),
    response_body: sent.text,
  });
  expect(json.duration_ms).toBeNumber();
});

test.each([
  ['/emails', EMAIL],
  ['/email', EMAIL],
  ['/email/send', EMAIL],
  ['/emails/batch', [EMAIL, EMAIL]],
])(
  'an email sent by %s names the request that sent it, and the row its first email',
  async (path, body) => {
    const sent = await bench.ask({ path, key, body });
    const requestId = sent.headers.get('x-request-id');
    const ids: string[] = Array.from(sent.text.matchAll(/"id":"([^"]+)"/g), ([, id = '']) => id);
    expect(ids).toHaveLength(path === '/emails/batch' ? 2 : 1);
    for (const id of ids) {
      expect((await bench.ask({ path: `/emails/${id}`, key })).json.log_id).toBe(requestId);
    }
    expect((await rowOf(sent)).json.message_id).toBe(ids[0]);
  },
);

test('refused requests with a valid key are logged, also unknown routes; others are not', async () => {
  for (const what of [
    { path: '/emails', key: send, body: {} },
    { path: '/domains', key: send },
    { path: '/nothing', key },
    { path: '/usage', method: 'DELETE', key },
    { path: '/emails', key, raw: '{' },
  ]) {
    const sent = await bench.ask(what);
    expect((await rowOf(sent)).json.status).toBe(sent.status);
  }
  const elsewhere = await bench.ask({ path: '/domains' });
  expect((await rowOf(elsewhere)).status).toBe(404);
});

test('a page of them is narrowed by part of the path, by status or its class, and by method in any case', async () => {
  const account = await bench.account('narrowed', 'fast');
  const own = await bench.key(account);
  for (const [method, path] of [
    ['GET', '/usage'],
    ['GET', '/domains?limit=2'],
    ['GET', '/domains/none'],
    ['DELETE', '/domains/none'],
    ['POST', '/emails'],
  ] as const) {
    await bench.ask({ method, path, key: own, ...(method === 'POST' && { body: {} }) });
  }
  const found = async (query: string): Promise<string[]> => {
    const { json } = await bench.ask({ path: `/logs?${query}`, key: own });
    const rows: { method: string; path: string; status: number }[] = json.data;
    return rows
      .filter(({ path }) => !path.startsWith('/logs'))
      .map(({ method, path, status }) => `${method} ${path} ${status}`)
      .toSorted();
  };
  const lost = ['DELETE /domains/none 404', 'GET /domains/none 404'];
  const all = [...lost, 'GET /domains 200', 'GET /usage 200', 'POST /emails 422'].toSorted();
  expect(await found('limit=100')).toEqual(all);
  expect(await found('q=domains')).toEqual(all.filter((row) => row.includes('/domains')));
  expect(await found('q=ins/no')).toEqual(lost);
  expect(await found('q=nothing')).toEqual([]);
  expect(await found('status=404')).toEqual(lost);
  expect(await found('status=4')).toEqual([...lost, 'POST /emails 422']);
  expect(await found('status=201')).toEqual([]);
  expect(await found('method=delete')).toEqual(['DELETE /domains/none 404']);
  expect(await found('method=Get&status=4&q=domains')).toEqual(['GET /domains/none 404']);
});

test('the client behind a trusted proxy is the one that is logged', async () => {
  for (const [forwarded, ip] of [
    ['203.0.113.7', '203.0.113.7'],
    ['198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, 127.0.0.9', '203.0.113.7'],
    ['nonsense', '127.0.0.1'],
    ['2001:db8::7', '2001:db8::7'],
  ]) {
    const sent = await bench.ask({
      path: '/usage',
      key,
      headers: { 'x-forwarded-for': forwarded ?? '' },
    });
    expect((await rowOf(sent)).json.ip).toBe(ip);
  }
});

test('an IPv4 client of a listener on :: has its own address', () => {
  const trusted = parseNetworks(['10.0.0.0/8']);
  const of = (peer: string, header = ''): string | null =>
    clientAddress(peer, new Headers({ 'x-forwarded-for': header }), trusted);
  expect(of('::ffff:192.0.2.7')).toBe('192.0.2.7');
  expect(of('::ffff:10.0.0.1', '198.51.100.7')).toBe('198.51.100.7');
  expect(of('::ffff:10.0.0.1', '::ffff:198.51.100.7')).toBe('198.51.100.7');
  expect(of('2001:db8::ffff:1')).toBe('2001:db8::ffff:1');
});

test('X-Forwarded-For from an untrusted address is ignored', () => {
  const headers = new Headers({ 'x-forwarded-for': '203.0.113.7' });
  const trusted = parseNetworks(['10.0.0.0/8', 'fd00::/8']);
  expect(clientAddress('192.0.2.1', headers, trusted)).toBe('192.0.2.1');
  expect(clientAddress('10.1.2.3', headers, trusted)).toBe('203.0.113.7');
  expect(clientAddress('::ffff:10.1.2.3', headers, trusted)).toBe('203.0.113.7');
  expect(clientAddress(null, headers, trusted)).toBeNull();
});

test('a reload of the config changes the trusted proxies', async () => {
  const { live } = bench.config;
  bench.config.replaceLive({ ...live, http: { ...live.http, trustedProxies: [] } });
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  const sent = await bench.ask({ path: '/usage', key, headers });
  bench.config.replaceLive(live);
  expect((await rowOf(sent)).json.ip).toBe('127.0.0.1');
});

test('no key, secret or attachment reaches a row', async () => {
  const made = await bench.ask({ path: '/api-keys', key, body: { name: 'hidden' } });
  const hook = await bench.ask({
    path: '/webhooks',
    key,
    body: { endpoint: 'https://h.example.com/' },
  });
  const rotated = await bench.ask({
    path: `/webhooks/${hook.json.id}/rotate-secret`,
    method: 'POST',
    key,
  });
  const content = Buffer.from('the attached words').toString('base64');
  const sent = await bench.ask({
    path: '/emails/batch',
    key,
    body: [{ ...EMAIL, attachments: [{ filename: 'a.txt', content }] }],
  });
  const broken = await bench.ask({
    path: '/emails/batch',
    key,
    raw: `[{"attachments":[{"content":"${content}"`,
  });
  const escaped = await bench.ask({
    path: '/emails/batch',
    key,
    raw: `[{"attachments":[{"filename":"a","cont\\u0065nt":"${content}"}]}]`,
  });
  for (const one of [made, hook, rotated, sent, broken, escaped]) {
    const { text } = await rowOf(one);
    for (const secret of [made.json.token, hook.json.secret, rotated.json.secret, content, key]) {
      expect(text).not.toContain(secret);
    }
  }
  expect((await rowOf(sent)).json.request_body).toContain('a.txt');
});

describe('content that is kept for a shorter time than the row', () => {
  const DAY_MS = 86_400_000;
  const PRIVATE = {
    ...EMAIL,
    html: '<p>hush</p>',
    text: 'hush',
    headers: { 'X-Diagnosis': 'hush' },
    tags: [{ name: 'kind', value: 'result' }],
  };

  /** The logged body of a send while bodies are kept for `days`; rows of this account are kept for 30. */
  async function logged(days: number, body: unknown): Promise<string> {
    const { live } = bench.config;
    bench.config.replaceLive({
      ...live,
      retention: { ...live.retention, bodiesMs: days * DAY_MS },
    });
    const sent = await bench.ask({ path: '/emails/batch', key, body });
    bench.config.replaceLive(live);
    return String((await rowOf(sent)).json.request_body);
  }

  test.each([[0], [29]])('is not in the row with bodies kept for %d days', async (days) => {
    const body = await logged(days, [
      PRIVATE,
      { ...EMAIL, htmlBody: 'hush' },
      { ...EMAIL, text: null },
    ]);
    expect(body).not.toContain('hush');
    expect(JSON.parse(body)).toEqual([
      {
        ...PRIVATE,
        html: '[hidden, 11 characters]',
        text: '[hidden, 4 characters]',
        headers: '[hidden]',
      },
      { ...EMAIL, text: '[hidden, 1 characters]', htmlBody: '[hidden, 4 characters]' },
      { ...EMAIL, text: null },
    ]);
  });

  test('is not in the row under a misspelled name either, and what is no email is left alone', async () => {
    const misspelled = { ...EMAIL, htlm: 'hush', Body_Text: { a: ['hush'] }, message: ['hush'] };
    const body = await logged(0, [misspelled]);
    expect(body).not.toContain('hush');
    expect(JSON.parse(body)).toMatchObject([
      { from: EMAIL.from, to: EMAIL.to, subject: EMAIL.subject, htlm: '[hidden, 4 characters]' },
    ]);
    const name = JSON.stringify({ name: 'a.example', note: 'shown' });
    expect(logBody(name, { isJson: true, isContentHidden: true })).toContain('shown');
  });

  test('leaves what an email says beside it', async () => {
    const beside = {
      from: EMAIL.from,
      to: [EMAIL.to],
      cc: ['c@example.com'],
      bcc: ['d@example.com'],
      reply_to: 'e@example.com',
      subject: 's',
      tags: [{ name: 'kind', value: 'receipt' }],
      scheduled_at: 'tomorrow',
    };
    const body = JSON.parse(await logged(0, [{ ...beside, text: 'hush' }]));
    expect(body).toEqual([{ ...beside, text: '[hidden, 4 characters]' }]);
  });

  test('is in the row where both are kept equally long', async () => {
    expect(JSON.parse(await logged(30, [PRIVATE]))).toEqual([PRIVATE]);
  });
});

describe('bodies in the log', () => {
  test('are cut at 16 KiB of UTF-8 without half a character', () => {
    const long = logBody(`"${'ü'.repeat(20_000)}"`) ?? '';
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(16 * 1024);
    expect(Buffer.byteLength(long)).toBeGreaterThan(16 * 1024 - 4);
    expect(long).not.toContain('\ufffd');
  });

  test('are null when they are empty', () => {
    expect([logBody(null), logBody('')]).toEqual([null, null]);
  });

  test.each([
    ['[{"x":"pr_live_hush"'],
    ['name=shop&token=hush'],
    ["{'token': 'hush'}"],
    ['{"Token":"hush","signingSecret":"hush","meta":{"KEY":"hush"}}'],
    ['{"Attachments":[{"Name":"a.pdf","Content":"hush"}]}'],
    ['{"attachment":[{"filename":"a","data":"hush"},"hush"]}'],
    ['{"attachments":[{"filename":"a","Content":{"type":"Buffer","data":"hush"}}]}'],
  ])('hide it in any spelling: %s', (text) => {
    expect(logBody(text)).not.toContain('hush');
  });

  test.each(['{"name":"KEY"}', '{"html":"<p>KEY</p>"}', '[["KEY\\u0021"]]'])(
    'hide keys of every prefix in whatever field: %s',
    (text) => {
      for (const prefix of ['pr', 're', 'acme1']) {
        for (const kind of ['live', 'test']) {
          const made = `${prefix}_${kind}_${'Ab3d'.repeat(9)}`;
          for (const isJson of [true, false]) {
            const kept = logBody(text.replace('KEY', made), { isJson });
            expect(kept).toContain(`${prefix}_${kind}_[hidden]`);
            expect(kept).not.toContain('Ab3d');
          }
        }
      }
    },
  );

  test('name the attachments', () => {
    const kept = logBody('{"attachments":[{"filename":"a.pdf","content":"YQ==","path":null}]}');
    expect(JSON.parse(kept ?? '')).toEqual({
      attachments: [{ filename: 'a.pdf', content: '[hidden, 4 characters]', path: null }],
    });
  });

  test('keep text that only looks like a secret', () => {
    expect(logBody('{"subject":"your key","tags":{"kind":"x"}}')).toContain('your key');
  });
});

test('a body that is no JSON is looked through up to 256 KiB, and only counted beyond', async () => {
  for (const [length, words] of [
    [262_144, '[262144 characters that are not JSON]'],
    [262_145, '[262145 bytes that were not read]'],
  ] as const) {
    const sent = await bench.ask({ path: '/emails', key, raw: 'x'.repeat(length) });
    expect([sent.status, (await rowOf(sent)).json.request_body]).toEqual([400, words]);
  }
  // What was read as JSON has its beginning kept, whatever its length.
  const long = { ...EMAIL, subject: 'x'.repeat(262_145), colour: 'red' };
  const sent = await bench.ask({ path: '/emails', key, body: long });
  const kept = String((await rowOf(sent)).json.request_body);
  expect([sent.status, kept]).toEqual([422, JSON.stringify(long).slice(0, 16 * 1024)]);
});

test('rows are written after a while without any read', async () => {
  const sent = await bench.ask({ path: '/usage', key });
  const id = String(sent.headers.get('x-request-id'));
  for (let isWritten = false; !isWritten; await Bun.sleep(20)) {
    const { rows } = await bench.ctx.store.logs(accountId, {
      limit: 5,
      after: null,
      before: null,
      q: null,
      status: null,
      method: null,
    });
    isWritten = rows.some((row) => row.id === id);
  }
});
