/** Sends with a body of more than a MiB, which another thread reads: they differ in nothing from small ones. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';

import type { Account } from '../../../src/store/rows.ts';
import { openBench, type Bench, type Sent } from '../bench.ts';

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's' };
const FILE = Buffer.alloc(900_000, 'a file\0\xff');

let bench: Bench;
let account: Account;
let key: string;

beforeAll(async () => {
  bench = await openBench({ toml: '[api]\nsingle_send = "full"' });
  account = await bench.account('large', 'fast');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
});
afterAll(() => bench.close());

const send = (body: unknown, headers: Record<string, string> = {}): Promise<Sent> =>
  bench.ask({ path: Array.isArray(body) ? '/emails/batch' : '/emails', key, body, headers });

async function logged({ headers }: Sent): Promise<string> {
  const path = `/logs/${headers.get('x-request-id') ?? ''}`;
  const { json } = await bench.ask({ path, key });
  return String(json.request_body);
}

test('files in each spelling are stored as they were, beside their text', async () => {
  const text = 't'.repeat(600_000);
  const contents = [FILE.toString('base64'), Array.from(FILE), FILE.toJSON()];
  const answers = await Promise.all(
    contents.map((content) =>
      send({ ...EMAIL, attachments: [{ filename: 'a.bin', content }], text }),
    ),
  );
  for (const answer of answers) {
    expect(answer.status).toBe(200);
    const stored = (await bench.ctx.store.body(account.id, answer.json.id))?.body;
    expect(stored?.text === text).toBe(true);
    expect(Buffer.compare(stored?.attachments[0]?.content ?? Buffer.alloc(0), FILE)).toBe(0);
    const row = await logged(answer);
    expect(row).toContain(
      '"attachments":[{"filename":"a.bin","content":"[hidden, 900000 bytes]"}]',
    );
    expect(row).toContain('"text":"ttt');
  }
});

test('a large email is read back whole, in pieces that give their memory back', async () => {
  const [html, text] = ['ü"<\u{1f600}\n'.repeat(90_000), 't'.repeat(300_000)];
  const { json } = await send({ ...EMAIL, html, text });
  for (const path of ['', '/body']) {
    const stringify = spyOn(JSON, 'stringify');
    const read = await bench.ask({ path: `/emails/${json.id}${path}`, key });
    const longest = Math.max(...stringify.mock.results.map(({ value }) => String(value).length));
    stringify.mockRestore();
    // Never all of it in one go; each of these characters may need two.
    expect(longest).toBeGreaterThan(131_072);
    expect(longest).toBeLessThan(262_144);
    expect([read.status, read.headers.get('content-length')]).toEqual([200, null]);
    expect(read.text === JSON.stringify(read.json)).toBe(true);
    expect([read.json.html === html, read.json.text === text]).toEqual([true, true]);
    expect(bench.ctx.budget.bytes).toBe(0);
    const row = await bench.ask({ path: `/logs/${read.headers.get('x-request-id')}`, key });
    expect([row.status, row.json.response_body]).toEqual([200, null]);
  }
});

test('the same bytes are a repetition, others under the same key a conflict', async () => {
  const body = [
    { ...EMAIL, html: 'h'.repeat(1_100_000) },
    { ...EMAIL, text: 'two' },
  ];
  const headers = { 'idempotency-key': 'large' };
  const first = await send(body, headers);
  const again = await send(body, headers);
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const other = await send([...body, { ...EMAIL, text: 'three' }], headers);
  expect([other.status, other.json.code]).toEqual([409, 'idempotency_conflict']);
  expect(await logged(first)).toStartWith(
    `[{"from":"a@own.example","to":"b@example.net","subject":"s","html":"hhh`,
  );
});

test('every fault is named, and what was sent stands in the log', async () => {
  const long = 'x'.repeat(1_100_000);
  const refused = await send([
    { ...EMAIL, text: long, attachments: [{ filename: 'a', content: 'no base64!' }] },
    { ...EMAIL, to: 'nobody', attachments: [{ filename: 'a', content: [1, 256] }], more: 1 },
  ]);
  expect([refused.status, refused.json.name]).toEqual([422, 'invalid_attachment']);
  const issues = refused.json.detail.issues as { path: string }[];
  expect(issues.map(({ path }) => path).toSorted()).toEqual([
    '[0].attachments[0].content',
    '[1].attachments[0].content',
    '[1].more',
    '[1].to',
  ]);
  expect(await logged(refused)).toStartWith('[{"from":"a@own.example"');
  const twice = await bench.ask({ path: '/emails', key, raw: `{"text":"${long}","text":1}` });
  expect([twice.status, twice.json.message]).toEqual([422, 'The key text appears twice.']);
  expect(await logged(twice)).toBe('[1100020 bytes that were not read]');
  const broken = await bench.ask({ path: '/emails', key, raw: `{"text":"${long}` });
  expect([broken.status, broken.json.message]).toEqual([400, 'The body must be valid JSON.']);
});
