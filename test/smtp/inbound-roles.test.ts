/** Whom port 25 takes mail for under each of the names of a service, and who is told of what came. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';

import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import { draft, mailbox } from '../flow/fixture.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const SHARED = 'cluster.appliance.example';
let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeAll(async () => {
  fixture = await openSmtpFixture({ toml: `[cluster]\nname = "${SHARED}"\n` });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  fixture.logged.length = 0;
});
afterAll(() => fixture.close());

async function connected(): Promise<RawClient> {
  const client = await RawClient.open(fixture.inbound);
  clients.push(client);
  await client.hello();
  await client.command('MAIL FROM:<>');
  return client;
}

/** A recipient of mail that waits, and the local part of its return path. */
async function sentMail(to = 'ann@receiver.example') {
  const accepted = await fixture.accept(fixture.by, draft({ to: [mailbox(to)] }));
  const { recipients } = await fixture.stored(accepted);
  const id = recipients[0]?.id ?? '';
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  return { id, local: encodeReturnPath(id, mac) };
}

/** Who was told of mail, in order. */
const told = (): unknown[] =>
  fixture.logged.filter(({ event }) => event === 'operator_mail_received').map(({ to }) => to);

test.each([
  [`abuse@${SHARED}`, '250'],
  [`Postmaster@${SHARED.toUpperCase()}`, '250'],
  ['abuse@mail.appliance.example', '250'],
  ['POSTMASTER', '250'],
  [`root@${SHARED}`, '550 5.1.1'],
  [`abuse@send.${SHARED}`, '550 5.1.1'],
])('%s is answered %s', async (address, reply) => {
  const client = await connected();
  expect(await client.command(`RCPT TO:<${address}>`)).toStartWith(reply);
});

test.each([
  ['send.acme.example', '250'],
  ['SEND.acme.example', '250'],
  [SHARED, '250'],
  ['mail.appliance.example', '250'],
  ['acme.example', '550 5.1.1'],
  ['resend.acme.example', '550 5.1.1'],
])('a return path at %s is answered %s', async (domain, reply) => {
  const { local } = await sentMail();
  const client = await connected();
  expect(await client.command(`RCPT TO:<${local}@${domain}>`)).toStartWith(reply);
});

test('mail that is no report is told for the people among its recipients alone', async () => {
  const { id, local } = await sentMail();
  const client = await connected();
  for (const to of [`${local}@send.acme.example`, `abuse@${SHARED}`, 'postmaster']) {
    expect(await client.command(`RCPT TO:<${to}>`)).toStartWith('250');
  }
  await client.command('DATA');
  client.write('From: a@b.example\r\nSubject: Out of office\r\n\r\nBack on Monday.\r\n');
  expect(await client.command('.')).toBe('250 2.0.0 OK');
  expect(told()).toEqual([`abuse@${SHARED}`, 'postmaster']);
  expect((await fixture.ctx.store.recipientById(id))?.status).toBe('queued');
});

test('a complaint to abuse@ that counts is told to nobody', async () => {
  const { id, local } = await sentMail();
  const client = await connected();
  await client.command(`RCPT TO:<abuse@${SHARED}>`);
  await client.command('DATA');
  const report = [
    'From: fbl@receiver.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    'Version: 1',
    `Original-Mail-From: <${local}@send.acme.example>`,
    '',
    '--b--',
  ];
  client.write(`${report.join('\r\n')}\r\n`);
  expect(await client.command('.')).toBe('250 2.0.0 OK');
  expect((await fixture.ctx.store.recipientById(id))?.status).toBe('complained');
  expect(told()).toEqual([]);
});

test('unknown recipients count for a session, over its messages and over STARTTLS, and for no other', async () => {
  const client = await connected();
  const other = await connected();
  const refused = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      expect(await client.command(`RCPT TO:<x${n}@send.acme.example>`)).toStartWith('550 5.1.1 ');
    }
  };
  await refused(8);
  // What is taken in between takes nothing back.
  expect(await client.command('RCPT TO:<postmaster>')).toStartWith('250 ');
  await client.command('DATA');
  expect(await client.command('Subject: x\r\n\r\nx\r\n.')).toBe('250 2.0.0 OK');
  await client.command('MAIL FROM:<>');
  await refused(7);
  await client.command('RSET');
  await client.command('STARTTLS');
  await client.upgrade();
  await client.command('EHLO client.example');
  await client.command('MAIL FROM:<>');
  await refused(5);
  expect(await client.command('RCPT TO:<y@send.acme.example>')).toBe(
    '421 4.7.0 Too many unknown recipients.',
  );
  await client.closed;
  expect(await other.command('RCPT TO:<y@send.acme.example>')).toStartWith('550 5.1.1 ');
});

test('a report to several return paths counts for each, and a person beside them is told nothing', async () => {
  const [one, two] = [
    await sentMail('one@receiver.example'),
    await sentMail('two@receiver.example'),
  ];
  const client = await connected();
  for (const to of [`${one.local}@send.acme.example`, `${two.local}@${SHARED}`, 'postmaster']) {
    expect(await client.command(`RCPT TO:<${to}>`)).toStartWith('250');
  }
  await client.command('DATA');
  const report = [
    'From: MAILER-DAEMON@mx.receiver.example',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.receiver.example',
    '',
    'Final-Recipient: rfc822; ann@receiver.example',
    'Action: failed',
    'Status: 5.1.1',
    '--b--',
  ];
  client.write(`${report.join('\r\n')}\r\n`);
  expect(await client.command('.')).toBe('250 2.0.0 OK');
  const { store } = fixture.ctx;
  const ends = await Promise.all([one, two].map(({ id }) => store.recipientById(id)));
  expect(ends.map((recipient) => recipient?.status)).toEqual(['bounced', 'bounced']);
  // It is a report, so nobody has to read it.
  expect(told()).toEqual([]);
});
