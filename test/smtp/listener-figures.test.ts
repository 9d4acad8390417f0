/** What the listeners take of the config and of the memory budget, step by step. */
import { afterEach, expect, test } from 'bun:test';

import type { Listen } from '../../src/base/config.ts';
import { revokeKey } from '../../src/flow/accounts/keys.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture | null = null;
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture?.close();
  fixture = null;
});

async function open(to: Listen): Promise<RawClient> {
  const client = await RawClient.open(to);
  clients.push(client);
  return client;
}

/** The fixture, and what is asked of its budget from now on. */
async function startWatched(): Promise<{ made: SmtpFixture; asked: string[] }> {
  const made = await openSmtpFixture();
  fixture = made;
  const asked: string[] = [];
  const { budget } = made.ctx;
  const name = (owner: string): string =>
    owner === made.by.account.id ? 'the account' : `"${owner}"`;
  const isFree = budget.isFree.bind(budget);
  const openShare = budget.open.bind(budget);
  let inShare = false;
  budget.isFree = (bytes, owner) => {
    if (!inShare) asked.push(`is free ${bytes} ${name(owner)}`);
    return isFree(bytes, owner);
  };
  budget.open = (owner) => {
    asked.push(`open ${name(owner)}`);
    const share = openShare(owner);
    return {
      ...share,
      grow: (bytes) => {
        inShare = true;
        const grown = share.grow(bytes);
        inShare = false;
        return grown;
      },
      begin: () => {
        asked.push('begin');
        return share.begin();
      },
      release: () => {
        asked.push('release');
        share.release();
      },
    };
  };
  return { made, asked };
}

async function say(client: RawClient, ...lines: string[]): Promise<string[]> {
  const codes: string[] = [];
  for (const line of lines) codes.push((await client.command(line)).slice(0, 3));
  return codes;
}

test('smtp.connections_per_address is the limit of every listener, with its words', async () => {
  fixture = await openSmtpFixture({ toml: 'connections_per_address = 2\n' });
  for (const at of [fixture.submission, fixture.inbound]) {
    for (let n = 0; n < 2; n += 1) expect(await (await open(at)).reply()).toStartWith('220 ');
    expect(await (await open(at)).reply()).toBe(
      '421 4.7.0 mail.appliance.example too many connections from your address',
    );
  }
});

test('a submitted message takes its memory in the name of its account, and gives it back however it ends', async () => {
  const { made, asked } = await startWatched();
  const client = await open(made.submission);
  await client.hello(true);
  await client.login(made.token);
  const envelope = ['RCPT TO:<ann@receiver.example>', 'DATA'];
  expect(await say(client, 'MAIL FROM:<a@x.example> SIZE=77', ...envelope)).toEqual([
    '250',
    '250',
    '354',
  ]);
  expect(await say(client, 'From: hello@acme.example\r\n\r\nx\r\n.')).toEqual(['250']);
  const whole = ['open the account', 'begin', 'release'];
  expect(asked.splice(0)).toEqual(['is free 77 the account', ...whole]);
  // No sender: it is refused after it was read.
  await say(client, 'MAIL FROM:<>', ...envelope);
  expect(await say(client, 'Subject: x\r\n\r\nx\r\n.')).not.toEqual(['250']);
  expect(asked.splice(0)).toEqual(['is free 0 the account', ...whole]);
  // Its key is gone when the message is there: nothing begins.
  await say(client, 'MAIL FROM:<>', ...envelope);
  const { id } = made.by.account;
  for (const key of await made.ctx.store.keys(id)) await revokeKey(made.ctx, id, key.id);
  expect(await say(client, 'From: hello@acme.example\r\n\r\nx\r\n.')).toEqual(['535']);
  expect(asked).toEqual(['is free 0 the account', 'open the account', 'release']);
});

test('port 25 is one owner, asks for what it keeps of a report at most, and gives it back however it ends', async () => {
  const { made, asked } = await startWatched();
  const client = await open(made.inbound);
  await client.hello();
  const envelope = ['RCPT TO:<postmaster>', 'DATA'];
  const messages = [
    'Subject: x\r\n\r\nx\r\n.',
    'Subject: x\n\r\nx\r\n.',
    `${'Received: x\r\n'.repeat(31)}\r\n.`,
    `${'Received: x\r\n'.repeat(30)}\r\n.`,
  ];
  await say(client, 'MAIL FROM:<> SIZE=1048577', 'RSET');
  const said: string[] = [];
  for (const message of messages) {
    await say(client, 'MAIL FROM:<> SIZE=1048575', ...envelope);
    said.push(...(await say(client, message)));
  }
  expect(said).toEqual(['250', '554', '554', '250']);
  const whole = ['open "inbound"', 'begin', 'release'];
  const declared = 'is free 1048575 "inbound"';
  expect(asked).toEqual([
    'is free 1048576 "inbound"',
    declared,
    ...whole,
    // With a bare line end it is refused before any work on it begins.
    declared,
    'open "inbound"',
    'release',
    declared,
    ...whole,
    declared,
    ...whole,
  ]);
});

test('mail to a person is one log line with all that is known of it, for each person', async () => {
  fixture = await openSmtpFixture();
  const client = await open(fixture.inbound);
  await client.hello();
  await say(client, 'MAIL FROM:<x@y.example>', 'RCPT TO:<Abuse@mail.appliance.example>');
  await say(client, 'RCPT TO:<postmaster>', 'DATA');
  const message = 'From: Ann <ann@y.example>\r\nSubject: Hello\r\n\r\nhello\r\n';
  client.write(message);
  await client.command('.');
  const line = {
    time: '2026-01-15T12:00:00.000Z',
    level: 'warn',
    event: 'operator_mail_received',
    peer: '127.0.0.1',
    from: 'Ann <ann@y.example>',
    subject: 'Hello',
    bytes: message.length,
  };
  expect(fixture.logged).toEqual([
    { ...line, to: 'Abuse@mail.appliance.example' },
    { ...line, to: 'postmaster' },
  ]);
});
