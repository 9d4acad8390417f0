/** Port 25 by hand: what is accepted, what is refused, and that nothing forged or malformed changes anything. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { feedbackIdOf } from '../../src/flow/feedback-id.ts';
import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import { StoreFullError } from '../../src/store/store.ts';
import { draft } from '../flow/fixture.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeEach(async () => {
  fixture = await openSmtpFixture();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture.close();
});

async function connected(): Promise<RawClient> {
  const client = await RawClient.open(fixture.inbound);
  clients.push(client);
  await client.hello();
  return client;
}

/** A message to one recipient, as stored, and the return path its mail would have had. */
async function sentMail() {
  const { message, recipients } = await fixture.stored(await fixture.accept(fixture.by, draft()));
  const [recipient] = recipients;
  if (recipient === undefined) throw new Error('no recipient');
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  return { message, recipient, path: `${encodeReturnPath(recipient.id, mac)}@send.acme.example` };
}

const status = async (id: string): Promise<string> =>
  (await fixture.ctx.store.recipientById(id))?.status ?? 'gone';

/** RFC 3464, section 2: a bounce as Postfix writes it. */
function bounce(address: string, code = '5.1.1'): string {
  return [
    'From: MAILER-DAEMON@mx.receiver.example',
    'Subject: Undelivered Mail Returned to Sender',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.receiver.example',
    '',
    `Final-Recipient: rfc822; ${address}`,
    'Action: failed',
    `Status: ${code}`,
    `Diagnostic-Code: smtp; 550 ${code} No such user`,
    '--b--',
  ].join('\r\n');
}

async function deliver(client: RawClient, to: string, message: string | Buffer): Promise<string> {
  await client.command('MAIL FROM:<>');
  const reply = await client.command(`RCPT TO:<${to}>`);
  if (!reply.startsWith('250')) return reply;
  await client.command('DATA');
  client.write(message);
  return client.command('\r\n.');
}

test('a bounce to a return path of ours ends the recipient, once', async () => {
  const { message, recipient, path } = await sentMail();
  const client = await connected();
  // Some systems put addresses in capitals.
  expect(await deliver(client, path.toUpperCase(), bounce(recipient.address))).toStartWith('250');
  expect(await status(recipient.id)).toBe('bounced');
  const types = async () => (await fixture.ctx.store.events(message.id)).map(({ type }) => type);
  expect(await types()).toEqual(['email.queued', 'email.bounced']);
  const suppression = await fixture.ctx.store.suppression(fixture.by.account.id, recipient.address);
  expect([suppression?.reason, suppression?.source]).toEqual(['hard_bounce', message.id]);
  expect(await deliver(client, path, bounce(recipient.address))).toStartWith('250');
  expect(await types()).toHaveLength(2);
});

test('of a report the first MiB is read, and the rest of it is taken all the same', async () => {
  const { recipient, path } = await sentMail();
  const client = await connected();
  const padded = (bytes: number): string =>
    bounce(recipient.address).replace(
      '\r\n--b\r\n',
      `\r\n${'x'.repeat(62)}`.repeat(bytes / 64) + '\r\n--b\r\n',
    );
  expect(await deliver(client, path, padded(1024 * 1024))).toStartWith('250');
  expect(await status(recipient.id)).toBe('queued');
  expect(await deliver(client, path, padded(1000 * 1024))).toStartWith('250');
  expect(await status(recipient.id)).toBe('bounced');
});

test('two reports of one recipient at once make one event and one suppression', async () => {
  const { message, recipient, path } = await sentMail();
  const both = await Promise.all([connected(), connected()]);
  await Promise.all(both.map((client) => deliver(client, path, bounce(recipient.address))));
  const types = (await fixture.ctx.store.events(message.id)).map(({ type }) => type);
  expect(types).toEqual(['email.queued', 'email.bounced']);
});

test('a report that the full disk has no space for is wanted again, and counts then', async () => {
  const { recipient, path } = await sentMail();
  const { store } = fixture.ctx;
  const finish = store.finish.bind(store);
  store.finish = () => Promise.reject(new StoreFullError('the disk is full'));
  const client = await connected();
  // 4xx: after 5xx the reporting server would throw the report away.
  expect(await deliver(client, path, bounce(recipient.address))).toBe(
    '452 4.3.1 This service is out of disk space. Try again later.',
  );
  expect(await status(recipient.id)).toBe('queued');
  // No fault of ours, and the disk has a warning of its own.
  expect(fixture.logged.filter(({ event }) => event === 'smtp_command_failed')).toEqual([]);
  store.finish = finish;
  expect(await deliver(client, path, bounce(recipient.address))).toStartWith('250');
  expect(await status(recipient.id)).toBe('bounced');
});

describe('is refused at RCPT', () => {
  test.each([
    'anybody@elsewhere.example',
    'ann@receiver.example',
    'root@mail.appliance.example',
    'postmaster@acme.example',
    'abuse@elsewhere.example',
    'b-00000000000070008000000000000000-0000000000000000@send.acme.example',
    'a%b@mail.appliance.example',
  ])('%s', async (address) => {
    const client = await connected();
    await client.command('MAIL FROM:<>');
    expect(await client.command(`RCPT TO:<${address}>`)).toStartWith('550 5.1.1');
    expect(await client.command('DATA')).toStartWith('503');
  });

  test('a return path whose tag is off by one bit, and one at a domain that cannot be ours', async () => {
    const { path } = await sentMail();
    const [local = '', domain = ''] = path.split('@');
    const flipped = local.replace(/.$/, (digit) => (Number.parseInt(digit, 16) ^ 1).toString(16));
    const client = await connected();
    await client.command('MAIL FROM:<>');
    expect(await client.command(`RCPT TO:<${flipped}@${domain}>`)).toStartWith('550');
    expect(await client.command(`RCPT TO:<${local}@gmail.example>`)).toStartWith('550');
    expect(await client.command(`RCPT TO:<${path}>`)).toStartWith('250');
  });

  test('and a client that keeps guessing is disconnected', async () => {
    const client = await connected();
    await client.command('MAIL FROM:<>');
    for (let n = 0; n < 20; n += 1) await client.command(`RCPT TO:<x${n}@send.acme.example>`);
    expect(await client.command('RCPT TO:<y@send.acme.example>')).toStartWith('421');
    await client.closed;
  });

  test('there are no logins', async () => {
    const client = await connected();
    await client.command('STARTTLS');
    await client.upgrade();
    expect(await client.command('EHLO client.example')).not.toContain('AUTH');
    expect(await client.login(fixture.token)).toStartWith('500');
  });
});

test('10,000 forged reports: none gets in, none suppresses, and an honest one does', async () => {
  const { message, recipient, path } = await sentMail();
  const [, uuid = ''] = path.split('-');
  let refused = 0;
  let seed = 1;
  const forge = async (): Promise<void> => {
    const client = await RawClient.open(fixture.inbound);
    clients.push(client);
    await client.hello();
    // Twenty guesses each, pipelined, as many as one session gets.
    let commands = 'MAIL FROM:<>\r\n';
    for (let n = 0; n < 20; n += 1) {
      seed = (seed * 48_271) % 2_147_483_647;
      const tag = seed.toString(16).padStart(16, '0');
      commands += `RCPT TO:<b-${uuid}-${tag}@send.acme.example>\r\n`;
    }
    client.write(commands);
    await client.reply();
    for (let n = 0; n < 20; n += 1) if ((await client.reply()).startsWith('550')) refused += 1;
    client.close();
  };
  for (let round = 0; round < 25; round += 1) await Promise.all(Array.from({ length: 20 }, forge));
  expect(refused).toBe(10_000);
  // Reports to abuse@ are accepted, but name no recipient that we can verify.
  const client = await connected();
  for (const [own, about] of [
    [message.messageId, recipient.address],
    ['<x@y.example>', recipient.address],
  ] as const) {
    const forged = [
      bounce(about),
      '--b',
      'Content-Type: message/rfc822',
      '',
      `Message-ID: ${own}`,
      `Return-Path: <b-${uuid}-0000000000000000@send.acme.example>`,
      '',
      '--b--',
    ].join('\r\n');
    expect(await deliver(client, 'abuse@mail.appliance.example', forged)).toStartWith('250');
  }
  expect(await status(recipient.id)).toBe('queued');
  const list = await fixture.ctx.store.suppressions(fixture.by.account.id, null, {
    limit: 10,
    after: null,
    before: null,
  });
  expect(list.rows).toEqual([]);
  expect(await deliver(client, path, bounce(recipient.address))).toStartWith('250');
  expect(await status(recipient.id)).toBe('bounced');
}, 60_000);

test.each(['WIZ', 'SHELL', 'KILL', 'XCLIENT NAME=x', 'XFORWARD NAME=x', 'BDAT 1', 'TURN'])(
  '%s is not known here',
  async (command) => {
    expect(await (await connected()).command(command)).toStartWith('500');
  },
);

describe('mail for abuse and postmaster', () => {
  test.each(['postmaster', 'Postmaster@mail.appliance.example', 'ABUSE@MAIL.APPLIANCE.EXAMPLE'])(
    '%s is taken and told to the operator',
    async (address) => {
      const client = await connected();
      const reply = await deliver(
        client,
        address,
        'From: a@b.example\r\nSubject: Hello you\r\n\r\nx',
      );
      expect(reply).toStartWith('250');
      expect(fixture.logged.at(-1)).toMatchObject({
        event: 'operator_mail_received',
        from: 'a@b.example',
        subject: 'Hello you',
      });
    },
  );

  test('a complaint that names our return path finds its recipient; the repeat changes nothing', async () => {
    const { message, recipient, path } = await sentMail();
    const report = arf(`Original-Mail-From: <${path}>`, 'abuse');
    const client = await connected();
    expect(await deliver(client, 'abuse@mail.appliance.example', report)).toStartWith('250');
    expect(await deliver(client, 'abuse@mail.appliance.example', report)).toStartWith('250');
    expect(await status(recipient.id)).toBe('complained');
    const types = (await fixture.ctx.store.events(message.id)).map(({ type }) => type);
    expect(types).toEqual(['email.queued', 'email.complained']);
    const row = await fixture.ctx.store.suppression(fixture.by.account.id, recipient.address);
    expect(row?.reason).toBe('complaint');
  });

  test('a complaint by Message-ID alone proves nothing and changes nothing', async () => {
    const { message, recipient } = await sentMail();
    const report = arf('User-Agent: x', 'abuse', `Message-ID: ${message.messageId}`);
    await deliver(await connected(), 'abuse@mail.appliance.example', report);
    expect(await status(recipient.id)).toBe('queued');
    expect(fixture.logged.at(-1)).toMatchObject({ event: 'complaint_unmatched' });
  });

  test('a complaint by Feedback-ID alone counts with our HMAC, where the message had one recipient', async () => {
    const [one, other] = [await sentMail(), await sentMail()];
    const client = await connected();
    const complain = (feedbackId: string): Promise<unknown> =>
      deliver(
        client,
        'abuse@mail.appliance.example',
        arf('User-Agent: x', 'abuse', `Message-ID: <gone@x.example>\r\nFeedback-ID: ${feedbackId}`),
      );
    const real = feedbackIdOf(fixture.ctx, one.message);
    await complain(
      real.replace(one.message.id.replaceAll('-', ''), other.message.id.replaceAll('-', '')),
    );
    expect(await status(other.recipient.id)).not.toBe('complained');
    await complain(real);
    expect(await status(one.recipient.id)).toBe('complained');
  });

  test.each(['not-spam', 'auth-failure'])('%s is no complaint', async (type) => {
    const { recipient, path } = await sentMail();
    const client = await connected();
    await deliver(client, path, arf(`Original-Mail-From: <${path}>`, type));
    expect(await status(recipient.id)).toBe('queued');
  });
});

/** RFC 5965, section 3, with the recipient redacted. */
function arf(field: string, type: string, original = 'Message-ID: <other@x.example>'): string {
  return [
    'From: fbl@receiver.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'A complaint.',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'Version: 1',
    field,
    'Original-Rcpt-To: redacted@receiver.example',
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    original,
    '',
    'x',
    '--b--',
  ].join('\r\n');
}

describe('content', () => {
  test.each([
    ['a bare LF', 'Subject: x\r\n\r\na\nb', '554 5.6.0'],
    ['a bare CR', 'Subject: x\r\n\r\na\rb', '554 5.6.0'],
    ['LF.LF', 'Subject: x\r\n\r\na\n.\nMAIL FROM:<>\r\n', '554 5.6.0'],
    ['LF.CRLF', 'Subject: x\r\n\r\na\n.\r\nMAIL FROM:<>\r\n', '554 5.6.0'],
    ['CRLF.LF', 'Subject: x\r\n\r\na\r\n.\nMAIL FROM:<>\r\n', '554 5.6.0'],
    ['CR.CR', 'Subject: x\r\n\r\na\r.\rMAIL FROM:<>\r\n', '554 5.6.0'],
    ['CRLF.CR', 'Subject: x\r\n\r\na\r\n.\rMAIL FROM:<>\r\n', '554 5.6.0'],
    ['a NUL', 'Subject: x\r\n\r\na\0b', '250'],
    ['31 hops', `${'Received: from a by b\r\n'.repeat(31)}\r\nx`, '554 5.4.6'],
    ['31 hops in lower case', `${'received : from a by b\r\n'.repeat(31)}\r\nx`, '554 5.4.6'],
    ['30 hops', `${'Received: from a by b\r\n'.repeat(30)}\r\nx`, '250'],
    [
      'a quoted header of 40 hops',
      `Subject: x\r\n\r\n${'Received: from a by b\r\n'.repeat(40)}`,
      '250',
    ],
  ])('%s', async (_, message, reply) => {
    const { path } = await sentMail();
    const client = await connected();
    expect(await deliver(client, path, message)).toStartWith(reply);
    // One reply to one message: nothing inside was read as commands.
    expect(await client.command('NOOP')).toStartWith('250 2.0.0 OK');
    expect(client.rest()).toBe('');
  });

  test('a bare line end is found wherever the packets are split', async () => {
    const { path } = await sentMail();
    for (const cut of [1, 2, 3, 4]) {
      const client = await connected();
      client.socket.setNoDelay(true);
      await client.command('MAIL FROM:<>');
      await client.command(`RCPT TO:<${path}>`);
      await client.command('DATA');
      const bytes = 'Subject: x\r\n\r\n1\r\n2\r3\r\n';
      for (let at = 0; at < bytes.length; at += cut) {
        client.write(bytes.slice(at, at + cut));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await client.command('.')).toStartWith('554');
    }
  });

  test('a message over the size limit is read to its end and refused', async () => {
    const small = await openSmtpFixture({ inbound: { messageBytes: 10_000 } });
    const client = await RawClient.open(small.inbound);
    await client.hello();
    const large = `${'x'.repeat(998)}\r\n`.repeat(20);
    const reply = await deliver(client, 'abuse@mail.appliance.example', large);
    expect(reply).toStartWith('552 5.3.4');
    client.close();
    await small.close();
  });
});

describe('STARTTLS injection', () => {
  test.each([
    ['a whole command', 'RSET\r\n'],
    ['part of one', 'RS'],
    ['150 commands', 'NOOP\r\n'.repeat(150)],
    ['EHLO and MAIL', 'EHLO evil.example\r\nMAIL FROM:<evil@evil.example>\r\n'],
  ])('%s sent in the same packet as STARTTLS never crosses the upgrade', async (_, injected) => {
    const client = await connected();
    client.write(`STARTTLS\r\n${injected}`);
    expect(await client.reply()).toStartWith('220');
    await client.upgrade();
    expect(await client.command('EHLO client.example')).toStartWith('250-mail.appliance.example');
    expect(await client.command('NOOP')).toBe('250 2.0.0 OK');
    // No MAIL is open, so the injected one was not executed.
    expect(await client.command('RCPT TO:<postmaster>')).toStartWith('503');
    expect(client.rest()).toBe('');
  });
});
