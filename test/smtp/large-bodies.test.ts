/** Large messages are worked on one at a time, and each gives its share back; mail to a return path is told to nobody. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { createKey } from '../../src/flow/accounts/keys.ts';
import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import { draft } from '../flow/fixture.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

/** From here on one body is worked on at a time: docs/reliability.md. */
const LARGE = 512 * 1024;
const LINE = `${'x'.repeat(70)}\r\n`;

let fixture: SmtpFixture;
beforeEach(async () => {
  fixture = await openSmtpFixture();
});
afterEach(() => fixture.close());

/** Another body that is being worked on; what it returns ends that, and is called once a message waits. */
async function occupied(): Promise<{ someoneWaits: Promise<void>; end: () => void }> {
  const { budget } = fixture.ctx;
  const other = budget.open('another');
  other.grow(LARGE);
  await other.begin();
  let noted = (): void => undefined;
  const someoneWaits = new Promise<void>((resolve) => (noted = resolve));
  const open = budget.open.bind(budget);
  budget.open = (owner) => {
    const share = open(owner);
    return { ...share, begin: () => (noted(), share.begin()) };
  };
  return { someoneWaits, end: () => other.release() };
}

/** Hands over the message; resolves when its end has been written, before its reply. */
async function hand(client: RawClient, to: string): Promise<void> {
  await client.command('MAIL FROM:<a@acme.example>');
  expect(await client.command(`RCPT TO:<${to}>`)).toStartWith('250');
  await client.command('DATA');
  client.write(`From: hello@acme.example\r\nSubject: large\r\n\r\n${LINE.repeat(LARGE / 64)}.\r\n`);
}

test('a submitted one waits for the one before it', async () => {
  const { someoneWaits, end } = await occupied();
  const client = await RawClient.open(fixture.submission);
  await client.hello(true);
  await client.login(fixture.token);
  await hand(client, 'ann@receiver.example');
  await someoneWaits;
  expect([client.rest(), fixture.sink.messages]).toEqual(['', []]);
  end();
  expect(await client.reply()).toStartWith('250 2.0.0 OK queued as ');
  expect(fixture.ctx.budget.bytes).toBe(0);
  client.close();
});

test('a submitted one counts for its account, whatever its key', async () => {
  const { budget } = fixture.ctx;
  const owners: string[] = [];
  const open = budget.open.bind(budget);
  budget.open = (owner) => (owners.push(owner), open(owner));
  const { account } = fixture.by;
  const other = await createKey(fixture.ctx, account.id, {
    name: 'another',
    permission: 'sending_access',
  });
  for (const token of [fixture.token, other.token]) {
    const client = await RawClient.open(fixture.submission);
    await client.hello(true);
    await client.login(token);
    await hand(client, 'ann@receiver.example');
    expect(await client.reply()).toStartWith('250 2.0.0 OK queued as ');
    client.close();
  }
  expect(owners).toEqual([account.id, account.id]);
});

test('a report waits for the one before it', async () => {
  const { someoneWaits, end } = await occupied();
  const client = await RawClient.open(fixture.inbound);
  await client.hello();
  await hand(client, 'postmaster');
  await someoneWaits;
  expect([client.rest(), fixture.logged.map(({ event }) => event)]).toEqual(['', []]);
  end();
  expect(await client.reply()).toBe('250 2.0.0 OK');
  expect(fixture.logged.at(-1)).toMatchObject({
    event: 'operator_mail_received',
    to: 'postmaster',
    peer: '127.0.0.1',
  });
  expect(fixture.ctx.budget.bytes).toBe(0);
  client.close();
});

test('what comes to a return path and reports nothing is taken, and told to nobody', async () => {
  const { recipients } = await fixture.stored(await fixture.accept(fixture.by, draft()));
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  const path = `${encodeReturnPath(recipients[0]?.id ?? '', mac)}@send.acme.example`;
  const client = await RawClient.open(fixture.inbound);
  await client.hello();
  await client.command('MAIL FROM:<>');
  await client.command(`RCPT TO:<${path}>`);
  await client.command('DATA');
  expect(await client.command('Subject: I am away\r\n\r\nUntil Monday.\r\n.')).toBe('250 2.0.0 OK');
  expect(fixture.logged.map(({ event }) => event)).not.toContain('operator_mail_received');
  client.close();
});

test('of mail to a person the operator reads who, to whom and 300 characters of what', async () => {
  const client = await RawClient.open(fixture.inbound);
  await client.hello();
  await client.command('MAIL FROM:<>');
  await client.command('RCPT TO:<Abuse@mail.appliance.example>');
  await client.command('DATA');
  const message = `From: ${'f'.repeat(310)}\r\nSubject: ${'s'.repeat(310)}\r\n\r\nx\r\n`;
  expect(await client.command(`${message}.`)).toBe('250 2.0.0 OK');
  const { event, level, peer, to, from, subject, bytes } = fixture.logged.at(-1) ?? {};
  expect({ event, level, peer, to, from, subject, bytes }).toEqual({
    event: 'operator_mail_received',
    level: 'warn',
    peer: '127.0.0.1',
    to: 'Abuse@mail.appliance.example',
    from: 'f'.repeat(300),
    subject: 's'.repeat(300),
    bytes: message.length,
  });
  client.close();
});

test('a large message is read on its thread as a small one is here: its key, its id, its recipients', async () => {
  const client = await RawClient.open(fixture.submission);
  await client.hello(true);
  await client.login(fixture.token);
  const another = '01913c7e-89ab-7cde-8f01-23456789abcd';
  const submit = async (end: string): Promise<string> => {
    await client.command('MAIL FROM:<a@acme.example>');
    for (const name of ['ann', 'ben']) await client.command(`RCPT TO:<${name}@receiver.example>`);
    await client.command('DATA');
    client.write(
      'From: Acme <hello@acme.example>\r\nTo: Ann <ann@receiver.example>\r\n' +
        'X-Tag-Kind: large\r\nIdempotency-Key: k\r\n' +
        `Message-ID: <${another}@mail.appliance.example>\r\nSubject: =?utf-8?q?gro=C3=9F?=\r\n` +
        `\r\n${LINE.repeat(LARGE / 128)}${end}\r\n`,
    );
    return client.command('.');
  };
  const first = await submit('end');
  expect(first).toStartWith('250 2.0.0 OK queued as ');
  expect(await submit('end')).toBe(first);
  // Of so many bytes the last one counts too.
  expect(await submit('enD')).toStartWith('554 5.5.0 This idempotency key');
  const { store, clock } = fixture.ctx;
  const rows = await store.emailsByPage(fixture.by.account.id, 1, 10);
  const id = first.slice(-36);
  expect(rows).toMatchObject([
    {
      id,
      from: 'Acme <hello@acme.example>',
      to: ['Ann <ann@receiver.example>'],
      bcc: ['ben@receiver.example'],
      subject: 'groß',
      tags: [{ name: 'Kind', value: 'large' }],
      messageId: `<${id}@mail.appliance.example>`,
    },
  ]);
  const body = await store.body(fixture.by.account.id, id);
  const raw = Buffer.from(body?.body?.raw ?? []).toString();
  expect(raw).toEndWith(`${LINE}end\r\n`);
  expect(raw).not.toMatch(/X-Tag|Idempotency/);
  const date = new Date(clock.now()).toUTCString().replace('GMT', '+0000');
  expect(raw).toContain(`\r\nDate: ${date}\r\n`);
  expect(fixture.ctx.budget.bytes).toBe(0);
  client.close();
});
