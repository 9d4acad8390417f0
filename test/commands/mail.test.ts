/** Emails, the queue and the kill switch by command, without a server: values, texts and exit codes. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { accepted, finishOf, newAttempt, newMessage } from '../store/samples.ts';
import { Console } from './console.ts';

const ISO: unknown = expect.stringMatching(/^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const SANDBOX = ['--from', 'a@shop.example', '--subject', 's', '--sandbox'];

let shop: Console;
let account: string;

beforeAll(async () => {
  shop = await Console.make();
  const [, accounts] = await shop.json('account', 'list');
  account = (accounts as { id: string }[])[0]?.id ?? '';
});
afterAll(() => shop.close());

test('an email is sent with every field, and shown with what became of it', async () => {
  const attached = join(shop.folder, 'note.txt');
  writeFileSync(attached, 'note');
  const to = ['--to', 'delivered@sandbox.test', '--to', 'bounced@sandbox.test'];
  const others = [
    '--cc',
    'delivered+c@sandbox.test',
    '--bcc',
    'delivered+b@sandbox.test',
    '--reply-to',
    'r@shop.example',
  ];
  const extra = ['--header', 'X-Ticket: 17:a', '--tag', 'kind = a-b', '--attachment', attached];
  const sent = await shop.run('send', ...SANDBOX, ...to, ...others, ...extra, '--html', '<p>h</p>');
  expect([sent.code, sent.err]).toEqual([0, '']);
  const id = sent.out.trim();
  const [, shown] = await shop.json('email', 'show', id);
  const { message, recipients, events } = shown as Record<string, Record<string, unknown>[]>;
  expect(message).toEqual(
    expect.objectContaining({
      id,
      account_id: account,
      is_sandbox: true,
      from: 'a@shop.example',
      to: ['delivered@sandbox.test', 'bounced@sandbox.test'],
      cc: ['delivered+c@sandbox.test'],
      bcc: ['delivered+b@sandbox.test'],
      reply_to: ['r@shop.example'],
      subject: 's',
      tags: [{ name: 'kind', value: 'a-b' }],
      created_at: ISO,
    }),
  );
  expect(recipients?.map(({ address, kind }) => [address, kind])).toEqual([
    ['delivered@sandbox.test', 'to'],
    ['bounced@sandbox.test', 'to'],
    ['delivered+c@sandbox.test', 'cc'],
    ['delivered+b@sandbox.test', 'bcc'],
  ]);
  expect(events?.map(({ type }) => type)).toContain('email.bounced');
  for (const event of events ?? []) expect(event['occurred_at']).toEqual(ISO);
  const text = (await shop.run('email', 'show', id)).out;
  expect(text).toMatch(
    /^email +\S+\nfrom +a@shop\.example\nto +delivered@sandbox\.test, bounced@sandbox\.test\nsubject +s\nMessage-ID +<\S+>\nstatus +\w+\naccepted \(UTC\) +2\d{3}-/,
  );
  expect(text).toContain('\nAT (UTC) ');
  const raw = await shop.open(async (ctx) => await ctx.store.messageById(id));
  expect(raw?.subject).toBe('s');
  expect((await shop.run('email', 'show', 'x')).err).toContain('There is no email x.');
});

test.each([
  [['--header', 'X-Ticket'], '--header must be written NAME:VALUE, not "X-Ticket".'],
  [['--text', 't', '--header', ': x'], '--header must be written NAME:VALUE, not ": x".'],
  [['--tag', 'kind'], '--tag must be written NAME=VALUE, not "kind".'],
  [['--text', 'a', '--text-file', 'b'], 'Use either --text or --text-file, not both.'],
  [['--html', 'a', '--html-file', 'b'], 'Use either --html or --html-file, not both.'],
  [['--text-file', '-', '--html-file', '-'], 'Only one of the files can be standard input.'],
])('send %p is wrong usage', async (words, message) => {
  const sent = await shop.run('send', ...SANDBOX, '--to', 'a@sandbox.test', ...words);
  expect([sent.code, sent.err.split('\n')[0]]).toEqual([64, message]);
});

test('files to attach share 40 MiB', async () => {
  const big = join(shop.folder, 'big.bin');
  writeFileSync(big, '');
  truncateSync(big, 21 * 1024 * 1024);
  const words = ['--text', 't', '--attachment', big, '--attachment', big];
  const sent = await shop.run('send', ...SANDBOX, '--to', 'a@sandbox.test', ...words);
  expect(sent.code).toBe(1);
  expect(sent.err).toStartWith(`${big} is too large: 22020096 bytes of at most 19922944.\n`);
  expect(readFileSync(big)).toHaveLength(22_020_096);
  truncateSync(big, 40 * 1024 * 1024 + 1);
  const text = await shop.run('send', ...SANDBOX, '--to', 'a@sandbox.test', '--text-file', big);
  expect([text.code, text.err.split('\n')[0]]).toEqual([
    1,
    `${big} is too large: 41943041 bytes of at most 41943040.`,
  ]);
});

test('send asks for a text where a terminal is its standard input', async () => {
  const before = process.stdin.isTTY;
  process.stdin.isTTY = true;
  const sent = await shop.run('send', ...SANDBOX, '--to', 'a@sandbox.test');
  process.stdin.isTTY = before;
  const words = 'Use --text or --html, or write the text to standard input.';
  expect([sent.code, sent.err.split('\n')[0]]).toEqual([64, words]);
});

test('emails are listed page by page, filtered, with the way to the next', async () => {
  const ids: string[] = [];
  for (const subject of ['one', 'two', 'three']) {
    const words = ['--from', 'a@list.example', '--to', 'delivered@sandbox.test', '--text', 't'];
    const sent = await shop.run('send', ...words, '--sandbox', '--subject', subject);
    ids.unshift(sent.out.trim());
  }
  const page = await shop.json('email', 'list', '--limit', '2', '--search', 'list.example');
  expect(page).toMatchObject([
    0,
    { data: [{ id: ids[0], subject: 'three' }, { id: ids[1] }], has_more: true },
  ]);
  const text = (await shop.run('email', 'list', '--limit', '1', '--search', 'list.example')).out;
  expect(text).toMatch(
    /^TO +STATUS +ACCEPTED \(UTC\)\n {2}ID\n {2}SUBJECT\ndelivered@sandbox\.test +delivered +2.*\n {2}\S+\n {2}three\n\nThere are more: --after \S+\n$/,
  );
  expect(text).toContain(`--after ${ids[0]}`);
  const rest = await shop.json(
    'email',
    'list',
    '--after',
    ids[1] ?? '',
    '--search',
    'list.example',
  );
  expect(rest).toMatchObject([0, { data: [{ id: ids[2] }], has_more: false }]);
  expect((await shop.run('email', 'list', '--status', 'complained')).out).toBe(
    'There are no emails.\n',
  );
  expect((await shop.run('email', 'list', '--status', 'odd')).code).toBe(64);
});

test('what waits is listed with its reason, retried by name and given up', async () => {
  const made = newMessage(account, {}, ['ann@wait.example', 'bob@wait.example']);
  const [ann, bob] = made.recipients;
  await shop.open(async ({ store }) => {
    await accepted(store, made);
    if (ann === undefined) return;
    const attempt = newAttempt(ann, {
      tls: JSON.stringify({ version: 'TLSv1.3', cipher: 'x', verified: false, policy: 'none' }),
    });
    await store.finish(finishOf(made, ann, { attempt }));
  });
  const [, listing] = await shop.json('queue', 'list', '--domain', 'wait.example');
  const { recipients, destinations, ...rest } = listing as Record<
    'recipients' | 'destinations',
    unknown[]
  >;
  expect(rest as unknown).toEqual({ halt: null, throttles: [], destination_count: 1 });
  expect(destinations).toContainEqual(
    expect.objectContaining({ domain: 'wait.example', oldest_created_at: ISO }),
  );
  expect(recipients).toContainEqual(
    expect.objectContaining({
      id: bob?.id,
      message_id: made.message.id,
      account_id: account,
      address: 'bob@wait.example',
      domain: 'wait.example',
      kind: 'to',
      expires_at: ISO,
      updated_at: ISO,
    }),
  );
  const text = (await shop.run('queue', 'list')).out;
  expect(text).toMatch(/^DESTINATION +WAITING +OLDEST \(UTC\)\nwait\.example +1 +2/);
  expect(text).toMatch(/\n\nRECIPIENT +ATTEMPTS +NEXT \(UTC\)\n +ID +UNTIL \(UTC\)\nbob@wait/);
  const [, detail] = await shop.json('queue', 'show', ann?.id ?? '');
  expect(detail).toMatchObject({
    message: { id: made.message.id, account_id: account },
    recipients: [{ id: ann?.id, address: 'ann@wait.example' }],
    attempts: [
      {
        message_id: made.message.id,
        recipient_id: ann?.id,
        number: 1,
        began_at: ISO,
        ended_at: ISO,
        tls: { version: 'TLSv1.3', verified: false, policy: 'none' },
      },
    ],
  });
  const shown = (await shop.run('queue', 'show', made.message.id)).out;
  expect(shown).toContain('TLSv1.3, not verified (none)');
  expect(shown).toMatch(/^ATTEMPT +BEGAN \(UTC\) +OUTCOME +TLS$/m);
  const both = await shop.run('queue', 'retry', 'x', '--domain', 'y');
  expect([both.code, both.err.split('\n')[0]]).toEqual([
    64,
    'Use either ID or --domain D, not both.',
  ]);
  const retried = await shop.json('queue', 'retry', '--domain', 'wait.example');
  expect(retried[0]).toBe(0);
  expect(await shop.json('queue', 'retry', '--domain', 'Wait.EXAMPLE')).toEqual(retried);
  expect(await shop.json('queue', 'retry', '--domain', 'none.example')).toEqual([
    1,
    { retried: 0 },
  ]);
  const erased = await shop.run('erase', 'bob@wait.example');
  expect(erased.code).toBe(1);
  expect(erased.out).toContain('left, because mail waits     1\n');
  expect(erased.out).toContain('postrider queue fail ID.');
  const failed = await shop.run('queue', 'fail', bob?.id ?? '');
  expect([failed.code, failed.out]).toEqual([0, 'Recipients given up: 1.\n']);
  await shop.run('queue', 'fail', made.message.id);
  expect(await shop.json('queue', 'retry')).toEqual([0, { retried: 0 }]);
  expect((await shop.run('queue', 'list')).out).toBe('The queue is empty.\n');
  expect(await shop.json('erase', 'bob@wait.example')).toMatchObject([
    0,
    { shared: 1, waiting: 0 },
  ]);
});

test('a halt and its end say what is so now', async () => {
  expect(await shop.json('halt', '--reason', 'Leak.')).toEqual([
    0,
    { halted: true, reason: 'Leak.', since: ISO },
  ]);
  const listing = await shop.run('queue', 'list');
  expect(listing.out).toStartWith('Sending is halted: Leak.\n\n');
  const [, json] = await shop.json('queue', 'list');
  expect(json).toMatchObject({ halt: { reason: 'Leak.', since: ISO } });
  const sent = await shop.run('send', ...SANDBOX, '--to', 'a@sandbox.test', '--text', 't');
  expect([sent.code, sent.out]).toEqual([1, '']);
  expect((await shop.run('halt')).out).toStartWith('Sending is halted: ');
  expect((await shop.run('resume')).out).toBe('Sending has resumed.\n');
  expect((await shop.run('resume')).out).toBe('Sending was not halted.\n');
  expect(await shop.json('resume')).toEqual([0, { halted: false, was_halted: false }]);
});

test.each(['tail', 'reload', 'version --server', 'webhook test x'])(
  '%s without a server ends with 1 and says so',
  async (words) => {
    const { code, out, err } = await shop.run(...words.split(' '));
    expect([code, out]).toEqual([1, '']);
    expect(err).toStartWith('No server is running on ');
  },
);
