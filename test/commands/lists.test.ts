/** Domains, suppressions and webhooks by command, without a server: values, texts and exit codes. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Console } from './console.ts';

const ISO: unknown = expect.stringMatching(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);

let shop: Console;

beforeAll(async () => {
  shop = await Console.make();
});
afterAll(() => shop.close());

test('a domain is added with the records to publish, listed, given a second key and removed', async () => {
  const [code, made] = await shop.json('domain', 'add', 'Shop.example');
  expect([code, made]).toMatchObject([
    0,
    {
      id: ID,
      name: 'shop.example',
      status: 'pending',
      verified_at: null,
      records: [{ record: 'DKIM' }, { record: 'SPF' }],
    },
  ]);
  const text = (await shop.run('domain', 'add', 'other.example')).out;
  expect(text).toMatch(
    /^DKIM, required, not_started\n {2}Lets [^\n]*\n {2}TXT \w+\._domainkey\.other\.example\n {2}v=DKIM1;/,
  );
  expect(text).toContain('\n\nSPF, required, not_started\n');
  expect(text).toContain('  CNAME send.other.example\n  mail.shop.example\n\nDMARC, recommended,');
  expect(text).toEndWith(
    '\n\nPublish these records, then run: postrider domain verify other.example\n',
  );
  const records = await shop.json('domain', 'records', 'other.example');
  expect(records).toMatchObject([0, [{ record: 'DKIM' }, { record: 'SPF' }, { record: 'DMARC' }]]);
  const rotated = await shop.run('domain', 'rotate-key', 'shop.example');
  expect(rotated.out).toContain(
    'Publish this record and leave the present one, then run: postrider domain rotate-key shop.example --activate',
  );
  const again = await shop.json('domain', 'rotate-key', 'shop.example');
  expect(again).toMatchObject([
    0,
    {
      domain: 'shop.example',
      activated: false,
      old_record: null,
      record: { record: 'DKIM', status: 'pending' },
    },
  ]);
  expect((await shop.run('domain', 'list')).out).toMatch(
    /^NAME +ACCOUNT +STATUS\n +ID +LAST CHECKED \(UTC\)\n(?:.*\n)*shop\.example +default +pending\n +[0-9a-f-]{36} +-$/m,
  );
  const removed = await shop.json('domain', 'remove', 'other.example');
  expect(removed).toEqual([0, { id: ID, name: 'other.example', status: 'revoked' }]);
  expect((await shop.run('domain', 'remove', 'shop.example')).out).toBe(
    'Removed domain shop.example.\n',
  );
  expect((await shop.run('domain', 'list')).out).toBe('There are no domains.\n');
  const gone = await shop.run('domain', 'records', 'shop.example');
  expect([gone.code, gone.err]).toMatchObject([
    1,
    expect.stringContaining('no domain shop.example'),
  ]);
});

test('a domain that two accounts have must be named with its account', async () => {
  await shop.run('account', 'create', 'second');
  const words = ['domain', 'add', 'both.example', '--account'];
  const [, mine] = await shop.json(...words, 'default');
  const [, other] = await shop.json(...words, 'second');
  const { code, err } = await shop.run('domain', 'remove', 'both.example');
  expect(code).toBe(1);
  expect(err).toContain(
    'The accounts default and second both have both.example: name one with --account.',
  );
  const listed = await shop.json('domain', 'list', '--account', 'second');
  expect(listed).toMatchObject([
    0,
    [{ name: 'both.example', account: 'second', status: 'pending' }],
  ]);
  const removed = await shop.json('domain', 'remove', 'both.example', '--account', 'second');
  expect(removed[1]).toMatchObject({ id: (other as { id: string }).id });
  const { id } = mine as { id: string };
  expect(await shop.json('domain', 'remove', id)).toMatchObject([0, { id }]);
  await shop.run('account', 'delete', 'second', '--yes');
});

test('suppressions are added by reason, imported with their wrong rows named, exported and removed', async () => {
  const added = await shop.json(
    'suppression',
    'add',
    'A@x.example',
    '--reason',
    'complaint',
    '--note',
    'by phone',
  );
  const row = {
    id: ID,
    reason: 'complaint',
    source: 'operator',
    note: 'by phone',
    created_at: ISO,
  };
  expect(added).toEqual([0, { ...row, email: 'a@x.example' }]);
  const manual = await shop.run('suppression', 'add', 'b@x.example');
  expect(manual.out).toBe('b@x.example is suppressed (manual).\n');
  const file = join(shop.folder, 'list.csv');
  writeFileSync(file, 'email,reason\na@x.example,\nnobody,\nc@x.example,hard_bounce\n');
  const done = await shop.run('suppression', 'import', file);
  expect([done.code, done.out]).toEqual([1, 'Added: 1. Already suppressed: 1. Wrong: 1.\n']);
  expect(done.err).toStartWith('Rows read: 2, added: 1\nline 3: ');
  writeFileSync(file, 'email\nc@x.example\n');
  const again = await shop.json('suppression', 'import', file);
  expect(again).toEqual([0, { rows: 1, added: 0, known: 1, bad: 0, named: [] }]);
  const [, all] = await shop.json('suppression', 'export');
  expect((all as { email: string }[]).map(({ email }) => email).toSorted()).toEqual([
    'a@x.example',
    'b@x.example',
    'c@x.example',
  ]);
  expect(all).toContainEqual({ ...row, email: 'a@x.example' });
  expect((await shop.json('suppression', 'list'))[1]).toEqual(all);
  expect((await shop.run('suppression', 'export')).out).toStartWith(
    'email,reason,source,note,created_at\r\n',
  );
  // A complaint too: the operator may remove what the API may not.
  const removed = await shop.json('suppression', 'remove', 'A@X.example');
  expect(removed).toEqual([0, { email: 'a@x.example', status: 'removed' }]);
  for (const name of ['b', 'c']) {
    const { out } = await shop.run('suppression', 'remove', `${name}@x.example`);
    expect(out).toBe(`${name}@x.example is no longer suppressed.\n`);
  }
  expect((await shop.run('suppression', 'remove', 'a@x.example')).code).toBe(1);
  expect((await shop.run('suppression', 'list')).out).toBe('No addresses are suppressed.\n');
  const missing = await shop.run('suppression', 'import', join(shop.folder, 'nothing.csv'));
  expect(missing.code).toBe(1);
  expect(missing.err).toMatch(
    /^Cannot read .*nothing\.csv: .*\nName a CSV file, or use - for standard input\.\n$/,
  );
});

test('a list of more than one page of suppressions is whole', async () => {
  const file = join(shop.folder, 'many.csv');
  const rows = Array.from({ length: 1_003 }, (_, at) => `reader${at}@x.example`);
  writeFileSync(file, ['email', ...rows].join('\n'));
  await shop.run('suppression', 'import', file);
  const [, all] = await shop.json('suppression', 'list');
  expect(new Set((all as { email: string }[]).map(({ email }) => email)).size).toBe(1_003);
  expect(all).toHaveLength(1_003);
});

test('a webhook endpoint is shown with its secret once, then listed without', async () => {
  const url = 'https://8.8.8.8/hook';
  const [code, made] = await shop.json(
    'webhook',
    'add',
    url,
    '--event',
    'email.sent',
    '--event',
    'email.bounced',
  );
  const { id, signing_secret: secret } = made as { id: string; signing_secret: string };
  const events = ['email.sent', 'email.bounced'];
  expect([code, made]).toEqual([0, { id, url, events, signing_secret: secret, created_at: ISO }]);
  expect(secret).toStartWith('whsec_');
  const listed = await shop.json('webhook', 'list');
  expect(listed).toEqual([
    0,
    [{ id, url, events, status: 'active', failure_count: 0, last_failure_at: null }],
  ]);
  const text = (await shop.run('webhook', 'add', 'https://8.8.8.8/all')).out;
  expect(text).toMatch(
    /^id +[0-9a-f-]{36}\nURL +https:\/\/8\.8\.8\.8\/all\nevents +all events\nsigning secret +whsec_\S+\n\nStore the signing secret now: it is not shown again\.\nNext: postrider webhook test [0-9a-f-]{36}\n$/,
  );
  expect((await shop.run('webhook', 'list')).out).toContain(' all events\n');
  const replay = ['webhook', 'replay', id];
  expect((await shop.run(...replay)).code).toBe(64);
  expect((await shop.run(...replay, '--event', 'x', '--since', '2026-01-01')).code).toBe(64);
  const since = await shop.run(...replay, '--since', '2026-01-01T00:00:00Z');
  expect([since.code, since.out]).toEqual([0, 'Webhook calls to send again: 0.\n']);
  const untimely = await shop.run(...replay, '--since', 'yesterday');
  expect([untimely.code, untimely.err]).toEqual([
    1,
    '--since is not a time.\nWrite it in ISO 8601, for example 2026-11-21T03:00:00Z.\n',
  ]);
});
