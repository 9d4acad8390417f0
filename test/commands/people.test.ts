/** Accounts, keys, operators and the audit log by command: each value under its name, as JSON and as text. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { machineUser } from '../../src/commands/machine-user.ts';
import { Console } from './console.ts';

const ISO: unknown = expect.stringMatching(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);

let shop: Console;

beforeEach(async () => {
  shop = await Console.make('\n[[plans]]\nid = "small"\n');
});
afterEach(() => shop.close());

test('an account is created with its plan, and listed with its status, reason and bytes', async () => {
  const made = await shop.json('account', 'create', 'second', '--plan', 'small');
  expect(made).toEqual([0, { id: ID, name: 'second', plan: 'small', status: 'active' }]);
  const row = (status: string, status_reason: string | null): [number, unknown] => [
    0,
    { id: ID, name: 'second', plan: 'small', status, status_reason, created_at: ISO },
  ];
  const paused = await shop.json('account', 'pause', 'second', '--reason', 'Unpaid.');
  expect(paused).toEqual(row('paused', 'Unpaid.'));
  const [, all] = await shop.json('account', 'list');
  expect(all).toMatchObject([
    { name: 'default', plan: 'unlimited', status: 'active', status_reason: null, stored_bytes: 0 },
    { name: 'second', plan: 'small', status: 'paused', status_reason: 'Unpaid.', created_at: ISO },
  ]);
  expect((await shop.run('account', 'list')).out).toMatch(
    /second +small +paused\n.*\n +Unpaid\.\n/,
  );
  expect(await shop.json('account', 'resume', 'second')).toEqual(row('active', null));
  const unpaid = await shop.run('account', 'payment-required', 'second', '--reason', 'Card.');
  expect(unpaid.out).toBe('Account second now has the status payment_required.\n');
  expect(await shop.json('account', 'list')).toMatchObject([
    0,
    [{}, { status: 'payment_required', status_reason: 'Card.' }],
  ]);
  expect((await shop.run('account', 'resume', 'second', '--reason', 'x')).code).toBe(64);
});

test('an account is given another plan or name, and keeps what is not named', async () => {
  await shop.run('account', 'create', 'second');
  const row = (name: string, plan: string): [number, unknown] => [
    0,
    { id: ID, name, plan, status: 'active', status_reason: null, created_at: ISO },
  ];
  expect(await shop.json('account', 'change', 'second', '--plan', 'small')).toEqual(
    row('second', 'small'),
  );
  expect(await shop.json('account', 'change', 'second', '--name', ' third ')).toEqual(
    row('third', 'small'),
  );
  const both = await shop.run('account', 'change', 'third', '--name', 'b', '--plan', 'unlimited');
  expect([both.code, both.out]).toEqual([0, 'Account b is on the plan unlimited.\n']);
  expect(await shop.json('account', 'list')).toMatchObject([
    0,
    [
      { name: 'default', plan: 'unlimited' },
      { name: 'b', plan: 'unlimited' },
    ],
  ]);
});

test('an account is deleted with --yes alone, and the counts are those of what it had', async () => {
  await shop.run('account', 'create', 'second');
  await shop.run('key', 'create', '--account', 'second', '--name', 'a');
  await shop.run('key', 'create', '--account', 'second', '--name', 'b');
  await shop.run('webhook', 'add', 'https://8.8.8.8/h', '--account', 'second');
  for (const at of [1, 2, 3]) {
    await shop.run('suppression', 'add', `a${at}@x.example`, '--account', 'second');
  }
  for (const at of [1, 2, 3, 4]) {
    await shop.run('domain', 'add', `d${at}.example`, '--account', 'second');
  }
  const asked = await shop.run('account', 'delete', 'second');
  expect([asked.code, asked.err]).toEqual([
    64,
    'This deletes second for good. Add --yes to do it.\nUsage: postrider account delete A [--yes]\n',
  ]);
  expect((await shop.json('account', 'list'))[1]).toHaveLength(2);
  const done = await shop.json('account', 'delete', 'second', '--yes');
  const none = { messages: 0, log_rows: 0, confirmed: 0 };
  const had = { keys: 2, webhooks: 1, suppressions: 3, domains: 4 };
  expect(done).toEqual([0, { id: ID, ...none, ...had }]);
  expect(await shop.json('account', 'list')).toMatchObject([0, [{ name: 'default' }]]);
  const last = await shop.run('account', 'delete', 'default', '--yes');
  expect(last.out).toMatch(/^emails deleted +0\nrows of the request log +0\nkeys +1\ndomains +0\n/);
  expect((await shop.run('account', 'list')).out).toBe('There are no accounts.\n');
});

test('a key may only send unless another permission is named, is shown once, and stays listed when revoked', async () => {
  await shop.run('account', 'create', 'second');
  const [code, made] = await shop.json('key', 'create', '--name', 'ci', '--account', 'second');
  const { token, id } = made as { token: string; id: string };
  expect([code, made]).toMatchObject([
    0,
    {
      name: 'ci',
      permission: 'sending_access',
      prefix: token.slice(0, 12),
      last4: token.slice(-4),
    },
  ]);
  expect(token).toStartWith('pr_live_');
  const words = ['--test', '--permission', 'full_access', '--account', 'second'];
  const test = await shop.run('key', 'create', '--name', 'try', ...words);
  expect(test.out).toMatch(
    /^Created key try:\npr_test_\w+\nStore it now: it is not shown again\.\n$/,
  );
  expect((await shop.run('key', 'revoke', id)).out).toBe(`Revoked key ${id}.\n`);
  expect(await shop.json('key', 'list', '--account', 'second')).toMatchObject([
    0,
    [
      { id, name: 'ci', permission: 'sending_access', revoked_at: ISO, account: 'second' },
      { name: 'try', permission: 'full_access', revoked_at: null, last_used_at: null },
    ],
  ]);
  const all = (await shop.run('key', 'list')).out;
  expect(all).not.toContain(token);
  expect(all).toMatch(/^pr_live_\w{4}…\w{4} +first key +default +full_access$/m);
  expect(all).toMatch(new RegExp(`${token.slice(0, 12)}….* ci +second .*\\n +${id} +- +2\\d{3}-`));
  const none = await shop.run('key', 'revoke', 'nothing');
  expect([none.code, none.err]).toMatchObject([1, expect.stringContaining('no API key nothing')]);
});

test('an operator is added with role and account, and each command shows it whole', async () => {
  await shop.run('account', 'create', 'second');
  const [, made] = await shop.json('operator', 'add', 'bob', '--read-only', '--account', 'second');
  const bob = { id: ID, name: 'bob', role: 'read_only', account: 'second', second_factor: false };
  const row = { ...bob, created_at: ISO, signed_in_at: null };
  expect(made).toEqual({ ...row, password: expect.stringMatching(/^\S{24}$/) });
  const ann = (await shop.run('operator', 'add', 'ann')).out;
  expect(ann).toMatch(/^\S{24}\n\nThis is the password of ann; it is not shown again\.\n$/);
  const [, all] = await shop.json('operator', 'list');
  expect(all).toEqual(expect.arrayContaining([row]));
  for (const name of ['admin', 'ann']) {
    expect(all).toContainEqual(expect.objectContaining({ name, role: 'admin', account: null }));
  }
  const listed = (await shop.run('operator', 'list')).out;
  expect(listed).toMatch(/^ann +admin +everything\n +no +-$/m);
  expect(listed).toMatch(/^bob +read_only +second\n +no +-$/m);
  expect(await shop.json('operator', 'totp-reset', 'bob')).toEqual([0, row]);
  expect((await shop.run('operator', 'remove', 'bob')).out).toBe('Removed operator bob.\n');
  expect(names((await shop.json('operator', 'list'))[1])).not.toContain('bob');
});

const names = (rows: unknown): string[] => (rows as { name: string }[]).map(({ name }) => name);

test('a password that is made is shown once, for the operator that is named', async () => {
  await shop.run('operator', 'add', 'ann');
  const made = await shop.run('operator', 'password', 'ann');
  expect(made.out).toMatch(
    /^\S{24}\n\nThis is the new password; it is not shown again\. Every session of ann has ended\.\n$/,
  );
  expect((await shop.run('password')).out).toContain('Every session of admin has ended.');
  const set = { password: expect.stringMatching(/^\S{24}$/) as unknown, sessions_ended: true };
  expect(await shop.json('password')).toEqual([0, set]);
  const nobody = await shop.run('operator', 'password', 'nobody');
  expect([nobody.code, nobody.out]).toEqual([1, '']);
});

test('the audit log names who ran each command that changed something, newest first, page by page', async () => {
  await shop.run('account', 'create', 'second');
  await shop.run('account', 'pause', 'second', '--reason', 'Unpaid.');
  await shop.run('key', 'list');
  await shop.run('account', 'list');
  const [, first] = await shop.json('audit', '--limit', '1');
  const who = machineUser();
  expect(first).toEqual([
    {
      seq: expect.any(Number),
      at: ISO,
      via: 'command',
      who,
      action: 'account.pause',
      target: expect.stringContaining('second'),
      account: null,
      address: null,
    },
  ]);
  const { seq } = (first as { seq: number }[])[0] ?? { seq: 0 };
  const [, then] = await shop.json('audit', '--before', String(seq));
  expect(then).toMatchObject([{ action: 'account.create', seq: seq - 1 }]);
  expect((await shop.json('audit', '--who', who))[1]).toHaveLength(2);
  expect((await shop.run('audit', '--who', 'nobody')).out).toBe('Nothing has been changed yet.\n');
});

test.each([['0'], ['101'], ['-1'], ['1x'], ['1000']])(
  '--limit %s is refused by every list',
  async (limit) => {
    for (const list of [['audit'], ['email', 'list'], ['log', 'list']]) {
      const { code, err } = await shop.run(...list, `--limit=${limit}`);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`--limit must be a number from 1 to 100, not "${limit}".`),
      ]);
    }
  },
);
