/** A batch that is sent in part: each email is refused with the code, the name and the words that it gets alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from '../bench.ts';

const EMAIL = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };

/** Emails that are refused, each with what the refusal is called. */
const REFUSED: [change: object, code: string, name: string][] = [
  [{ from: 'nobody' }, 'validation_failed', 'invalid_from_address'],
  [{ subject: null }, 'validation_failed', 'missing_required_field'],
  [{ attachments: [{ filename: 'a', content: '*' }] }, 'validation_failed', 'invalid_attachment'],
  [{ to: 'nobody' }, 'validation_failed', 'validation_error'],
  [{ from: 'a@new.example' }, 'domain_not_verified', 'validation_error'],
  [{ from: 'a@else.example' }, 'from_domain_not_allowed', 'validation_error'],
  [
    { attachments: [{ filename: 'a', content: Buffer.alloc(1_001).toString('base64') }] },
    'content_rejected',
    'invalid_attachment',
  ],
];

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench({
    toml: '[[plans]]\nid = "small"\nattachment_bytes = 1000\nrate_per_second = 1000',
  });
  const account = await bench.account('parts', 'small');
  await bench.domain(account, 'own.example');
  key = await bench.key(account);
  await bench.ask({ path: '/domains', key, body: { name: 'new.example' } });
});
afterAll(() => bench.close());

const send = (body: unknown, mode: string) =>
  bench.ask({ path: '/emails/batch', key, body, headers: { 'x-batch-validation': mode } });

test('each stands at its position, and what is between them is sent in its order', async () => {
  const alone: string[] = [];
  for (const [change, code, name] of REFUSED) {
    const { json } = await send([{ ...EMAIL, ...change }], 'strict');
    expect([change, json.code, json.name]).toEqual([change, code, name]);
    alone.push(json.message);
  }
  const before = bench.accepted.length;
  const body = REFUSED.flatMap(([change], at) => [
    { ...EMAIL, subject: `${at}` },
    { ...EMAIL, ...change },
  ]);
  const { status, json } = await send(body, 'permissive');
  expect([status, Object.keys(json)]).toEqual([200, ['data', 'errors']]);
  expect(json.errors).toEqual(
    REFUSED.map(([, code, name], at) => ({
      index: 2 * at + 1,
      message: alone[at]?.replace('[0]', `[${2 * at + 1}]`),
      code,
      name,
    })),
  );
  const accepted = bench.accepted.slice(before).map(({ message }) => message);
  expect(accepted.map(({ subject }) => subject)).toEqual(REFUSED.map((_, at) => `${at}`));
  expect(json.data).toEqual(accepted.map(({ id }) => ({ id, status: 'queued' })));
});

test('what only the acceptance refuses is told by its position in the batch', async () => {
  const to = Array.from({ length: 51 }, (_, at) => `b${at}@example.net`);
  const headers = { 'Message-ID': `<${bench.accepted[0]?.message.id}@mail.rig.test>` };
  const body = [EMAIL, { ...EMAIL, to }, EMAIL, { ...EMAIL, headers }];
  const many = 'This email has 51 recipients; to, cc and bcc may have 50 together.';
  const made = 'must not be one that this service made for another email. Leave it out.';
  const issues = [
    { path: '[1].to', message: many },
    { path: '[3].headers.Message-ID', message: `[3].headers.Message-ID ${made}` },
  ];
  const strict = await send(body, 'strict');
  expect([strict.status, strict.json.detail]).toEqual([422, { issues }]);
  const permissive = await send(body, 'permissive');
  expect(permissive.json.errors).toEqual(
    issues.map(({ message }, at) => ({
      index: 2 * at + 1,
      message,
      code: 'validation_failed',
      name: 'validation_error',
    })),
  );
});
