/**
 * The content of accepted emails in the request log: shown as long as the message has it, on disk once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '../../rig/ids.ts';
import type { Account, LogRecord } from '../../../src/store/rows.ts';
import { openBench, type Bench, type Sent } from '../bench.ts';

const DAY_MS = 86_400_000;
const GONE = '[no longer kept]';
/** Text that encodings, JSON and markup often break. */
const HTML = `\ufeff<p title='"'>\\ \r\n\t\u0001\u007f\u2028 üé\u0301€😀 \uffff</p>${'<br>'.repeat(500)}`;
const EMAIL = {
  subject: 'subject-on-disk',
  html: HTML,
  from: 'a@own.example.com',
  text: `true ${HTML}`,
  to: 'delivered@sandbox.test',
  tags: [{ name: 'kind', value: 'text' }],
};

let bench: Bench;
let account: Account;
let key: string;

beforeAll(async () => {
  bench = await openBench({
    toml: '[api]\nsingle_send = "full"',
  });
  account = await bench.account('content', 'fast');
  await bench.domain(account, 'own.example.com');
  key = await bench.key(account);
});

afterAll(() => bench.close());

const send = (body: unknown, path = '/emails'): Promise<Sent> => bench.ask({ path, key, body });
const idOf = (sent: Sent): string => sent.headers.get('x-request-id') ?? '';

/** The request as `GET /logs/:id` shows it. */
async function shown(id: string, by = key): Promise<string> {
  const { status, json } = await bench.ask({ path: `/logs/${id}`, key: by });
  expect(status).toBe(200);
  return String(json.request_body);
}

/** The row as it is on disk. */
async function stored(id: string): Promise<LogRecord> {
  // Reading over the API first writes the rows in memory.
  await shown(id);
  const row = await bench.ctx.store.log(account.id, id);
  if (row === null) throw new Error('the request was not logged');
  return row;
}

/** Sends while bodies are kept for `days`; rows of this account are kept for 30. */
async function sendKeeping(days: number, body: unknown): Promise<Sent> {
  const { live } = bench.config;
  bench.config.replaceLive({
    ...live,
    retention: { ...live.retention, bodiesMs: days * DAY_MS },
  });
  const sent = await send(body);
  bench.config.replaceLive(live);
  return sent;
}

const forgetContent = (): Promise<number> => bench.ctx.store.purgeBodies(Date.now() + DAY_MS);

test('html and text are shown exactly as they were sent, in their original order', async () => {
  for (const body of [EMAIL, { ...EMAIL, text: null }, { ...EMAIL, html: '' }]) {
    const sent = await send(body);
    expect(sent.status).toBe(200);
    expect(await shown(idOf(sent))).toBe(JSON.stringify(body));
  }
});

test.each<[string, number]>([
  ['/emails', 200],
  ['/email/send', 202],
])('the stored row does not contain them: %s', async (path, status) => {
  const marker = `only-in-the-message-of${path}-`;
  const { tags: _, ...email } = EMAIL;
  const sent = await send({ ...email, html: marker.repeat(300), text: marker.repeat(50) }, path);
  expect(sent.status).toBe(status);
  await stored(idOf(sent));
  const files = ['log.db', 'log.db-wal'].map((name) =>
    join(bench.ctx.config.startup.dataDir, name),
  );
  const bytes = Buffer.concat(files.filter((file) => existsSync(file)).map((f) => readFileSync(f)));
  expect(bytes.includes(idOf(sent))).toBe(true);
  expect(bytes.includes(EMAIL.subject)).toBe(true);
  expect(bytes.includes(marker)).toBe(false);
  expect(await shown(idOf(sent))).toContain(marker.repeat(300));
});

test('once the content is gone, the row says so and shows everything else', async () => {
  const sent = await send(EMAIL);
  expect(await forgetContent()).toBeGreaterThan(0);
  expect(JSON.parse(await shown(idOf(sent)))).toEqual({ ...EMAIL, html: GONE, text: GONE });
});

describe('what is kept in full', () => {
  test.each<[string, string, unknown, number]>([
    ['a short email', '/emails', { ...EMAIL, html: '<p>Hi.</p>', text: 'Hi.' }, 200],
    ['a batch', '/emails/batch', [{ ...EMAIL, html: 'x'.repeat(3_000), text: 'y' }], 200],
    ['a refusal', '/emails', { ...EMAIL, html: 'x'.repeat(3_000), to: 'nobody' }, 422],
    ['a refusal of what stands for html', '/emails', { ...EMAIL, html: true }, 422],
  ])('%s', async (_words, path, body, status) => {
    const sent = await send(body, path);
    expect(sent.status).toBe(status);
    const { requestBody } = await stored(idOf(sent));
    expect(requestBody).toBe(JSON.stringify(body));
    await forgetContent();
    expect(await shown(idOf(sent))).toBe(JSON.stringify(body));
  });

  test('the repetition of a request, which made no message', async () => {
    const ask = { path: '/emails', key, body: EMAIL, headers: { 'idempotency-key': 'again' } };
    const [first, second] = [await bench.ask(ask), await bench.ask(ask)];
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await stored(idOf(first))).requestBody).not.toContain(HTML.slice(-20));
    expect((await stored(idOf(second))).requestBody).toBe(JSON.stringify(EMAIL));
  });

  test('a request too long even without html and text', async () => {
    const headers = Object.fromEntries(
      Array.from({ length: 40 }, (_none, at) => [`X-Long-${at}`, 'v'.repeat(500)]),
    );
    const sent = await send({ ...EMAIL, headers });
    expect(sent.status).toBe(200);
    const cut = JSON.stringify({ ...EMAIL, headers });
    expect(cut.startsWith(String((await stored(idOf(sent))).requestBody))).toBe(true);
    expect(await shown(idOf(sent))).toStartWith(JSON.stringify(EMAIL).slice(0, 2_000));
  });

  test('a row of an older version, byte for byte', async () => {
    const sent = await send(EMAIL);
    const requestBody = JSON.stringify(EMAIL, null, 1);
    const id = newId(Date.now());
    await bench.ctx.store.appendLogs([{ ...(await stored(idOf(sent))), id, requestBody }]);
    expect(await shown(id)).toBe(requestBody);
  });
});

test('what the log never keeps is not in these rows either', async () => {
  const hush = Buffer.from('the attached words').toString('base64');
  const attachments = [{ filename: 'a.txt', content: hush }];
  for (const more of [{ attachments }, { tags: { token: hush.replaceAll('=', '') } }]) {
    const sent = await send({ ...EMAIL, ...more });
    expect(sent.status).toBe(200);
    const row = await stored(idOf(sent));
    expect(row.requestBody).toContain('"html":true');
    expect(row.requestBody).toContain('[hidden');
    const body = await shown(idOf(sent));
    expect(JSON.parse(body)).toMatchObject({ html: EMAIL.html, text: EMAIL.text });
    for (const text of [row.requestBody, body]) expect(text).not.toContain(hush.slice(0, 20));
  }
});

describe('in an account whose rows outlive content', () => {
  const PRIVATE = { ...EMAIL, headers: { 'X-Diagnosis': 'hush' } };

  test('the content is shown until it goes, headers never', async () => {
    const sent = await sendKeeping(0, PRIVATE);
    const expected = { ...PRIVATE, headers: '[hidden]' };
    expect(JSON.parse(await shown(idOf(sent)))).toEqual(expected);
    await forgetContent();
    expect(JSON.parse(await shown(idOf(sent)))).toEqual({ ...expected, html: GONE, text: GONE });
  });

  test('requests to routes that take no email keep what they said', async () => {
    const { live } = bench.config;
    bench.config.replaceLive({ ...live, retention: { ...live.retention, bodiesMs: 0 } });
    const said = { name: 'ci', colour: 'red', text: 'hush' };
    for (const [path, colour] of [
      ['/api-keys', 'red'],
      ['/domains', 'red'],
      ['/suppressions', 'red'],
      ['/webhooks', 'red'],
      ['/emails', '[hidden, 3 characters]'],
      ['/emails/batch', '[hidden, 3 characters]'],
    ] as const) {
      const body = path === '/emails/batch' ? [said] : said;
      const row = await stored(idOf(await send(body, path)));
      const shownBody = JSON.parse(row.requestBody ?? 'null') as unknown;
      const expected = { name: 'ci', colour, text: '[hidden, 4 characters]' };
      const one: unknown = Array.isArray(shownBody) ? shownBody[0] : shownBody;
      const name = path.startsWith('/emails') ? '[hidden, 2 characters]' : 'ci';
      expect([path, one]).toEqual([path, { ...expected, name }]);
    }
    bench.config.replaceLive(live);
  });

  test('what is kept in full is hidden at once', async () => {
    const sent = await sendKeeping(29, { ...PRIVATE, html: 'hush', text: 'hush' });
    const { requestBody } = await stored(idOf(sent));
    expect(requestBody).toContain('[hidden, 4 characters]');
    expect(requestBody).not.toContain('hush');
  });
});

describe('a row that names a message which its account cannot read', () => {
  test.each([
    ['because it is another account’s', async () => String((await send(EMAIL)).json.id)],
    ['because there is none', async () => newId(Date.now())],
  ])('%s shows no content', async (_words, messageIdOf) => {
    const row = await stored(idOf(await send(EMAIL)));
    const other = await bench.account(`other ${row.id}`, 'fast');
    const id = newId(Date.now());
    await bench.ctx.store.appendLogs([
      { ...row, id, accountId: other.id, messageId: await messageIdOf() },
    ]);
    const body = await shown(id, await bench.key(other));
    expect(JSON.parse(body)).toEqual({ ...EMAIL, html: GONE, text: GONE });
  });
});

test('a huge html is cut at 16 KiB of UTF-8 without half a character', async () => {
  const sent = await send({ ...EMAIL, html: 'ü€'.repeat(40_000) });
  expect((await stored(idOf(sent))).requestBody?.length).toBeLessThan(1_000);
  const body = await shown(idOf(sent));
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(16 * 1024);
  expect(Buffer.byteLength(body)).toBeGreaterThan(16 * 1024 - 4);
  expect(body).toStartWith('{"subject":"subject-on-disk","html":"ü€ü');
  expect(body).not.toContain('\ufffd');
});
