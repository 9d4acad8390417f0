/** The limit of a message at each listener, to the byte: what it holds is kept whole, and one byte more is refused in words. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const LIMIT = 2_000;
const HEADER = 'From: hello@acme.example\r\nTo: ann@receiver.example\r\nSubject: x\r\n\r\n';

let fixture: SmtpFixture;
const clients: RawClient[] = [];
beforeEach(async () => {
  const limits = { messageBytes: LIMIT };
  fixture = await openSmtpFixture({ submission: limits, inbound: limits });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture.close();
});

/** A message of so many bytes, of which the last line is `end`. */
function sized(bytes: number): string {
  const end = '\r\nend\r\n';
  return (
    `${HEADER}${'x'.repeat(900)}\r\n${'z'.repeat(100)}\r\n`.padEnd(bytes - end.length, 'y') + end
  );
}

/** What is replied to `message`. */
async function deliver(client: RawClient, to: string, message: string): Promise<string> {
  for (const step of ['MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) {
    expect(await client.command(step)).toMatch(/^[23]5[04] /);
  }
  client.write(message);
  return client.command('.');
}

const beyond = (bytes: number): string =>
  `552 5.3.4 The message has ${bytes} bytes. The limit is ${LIMIT} bytes.`;

test('a submitted message of exactly the limit is taken whole; nothing is kept of a larger one', async () => {
  const client = await RawClient.open(fixture.submission);
  clients.push(client);
  await client.hello(true);
  await client.login(fixture.token);
  const to = 'ann@receiver.example';
  expect(await deliver(client, to, sized(LIMIT + 1))).toBe(beyond(LIMIT + 1));
  expect(await deliver(client, to, sized(LIMIT))).toStartWith('250 ');
  const { store, budget } = fixture.ctx;
  const emails = await store.emailsByPage(fixture.by.account.id, 1, 10);
  expect(emails).toHaveLength(1);
  const body = await store.body(fixture.by.account.id, emails[0]?.id ?? '');
  const raw = Buffer.from(body?.body?.raw ?? []).toString();
  expect(raw.slice(raw.indexOf('\r\n\r\n'))).toBe(sized(LIMIT).slice(HEADER.length - 4));
  expect(budget.bytes).toBe(0);
});

test('a message at port 25 of exactly the limit is taken, and a larger one is not', async () => {
  const client = await RawClient.open(fixture.inbound);
  clients.push(client);
  await client.hello();
  expect(await deliver(client, 'postmaster', sized(LIMIT + 1))).toBe(beyond(LIMIT + 1));
  expect(await deliver(client, 'postmaster', sized(LIMIT))).toBe('250 2.0.0 OK');
  expect(fixture.logged.map(({ event, bytes }) => [event, bytes])).toEqual([
    ['operator_mail_received', LIMIT],
  ]);
  expect(fixture.ctx.budget.bytes).toBe(0);
});

test('a message whose lines begin with dots has the bytes that it has without their doubles', async () => {
  const client = await RawClient.open(fixture.inbound);
  clients.push(client);
  await client.hello();
  const dots = `${HEADER}${'.\r\n'.repeat((LIMIT - HEADER.length - 5) / 3)}`;
  const message = dots.padEnd(LIMIT - 2, 'z') + '\r\n';
  expect(message).toHaveLength(LIMIT);
  const sent = message.replaceAll(/^\./gm, '..');
  expect(await deliver(client, 'postmaster', sent)).toBe('250 2.0.0 OK');
  expect(await deliver(client, 'postmaster', `..\r\n${sent}`)).toBe(beyond(LIMIT + 3));
});

test('of a report all bytes count, not those alone that are kept', async () => {
  await fixture.close();
  const limit = 1024 * 1024 + 100;
  fixture = await openSmtpFixture({ inbound: { messageBytes: limit } });
  const client = await RawClient.open(fixture.inbound);
  clients.push(client);
  await client.hello();
  const large = HEADER + `${'x'.repeat(98)}\r\n`.repeat(Math.ceil((limit - HEADER.length) / 100));
  expect(await deliver(client, 'postmaster', large)).toBe(
    `552 5.3.4 The message has ${large.length} bytes. The limit is ${limit} bytes.`,
  );
  const fits = large.slice(0, -100);
  expect(await deliver(client, 'postmaster', fits)).toBe('250 2.0.0 OK');
});
