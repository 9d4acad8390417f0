/** Submission by hand: what is offered, what is refused and how, and what is on disk after the 250. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { setAccountStatus } from '../../src/flow/accounts/accounts.ts';
import { createKey, revokeKey } from '../../src/flow/accounts/keys.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import { testAuthority } from '../rig/certificates.ts';
import { listensAt } from '../rig/descriptors.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeEach(async () => {
  fixture = await openSmtpFixture({
    toml: '[[plans]]\nid = "tiny"\nincluded_emails = 1\n',
    submission: { messageBytes: 100_000 },
  });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture.close();
});

async function connected(): Promise<RawClient> {
  const client = await RawClient.open(fixture.submission);
  clients.push(client);
  return client;
}

async function loggedIn(token = fixture.token): Promise<RawClient> {
  const client = await connected();
  await client.hello(true);
  expect(await client.login(token)).toStartWith('235 2.7.0');
  return client;
}

const MESSAGE = [
  'From: Acme <hello@acme.example>',
  'To: Ann <ann@receiver.example>',
  'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
  '',
  'Hello.',
].join('\r\n');

/** One whole transaction; returns the reply to the final dot, or the first refusal. */
async function send(
  client: RawClient,
  message: string | Buffer = MESSAGE,
  to = ['ann@receiver.example'],
  from = 'bounces@elsewhere.example',
): Promise<string> {
  const steps = [`MAIL FROM:<${from}>`, ...to.map((address) => `RCPT TO:<${address}>`)];
  for (const step of steps) {
    const reply = await client.command(step);
    if (!reply.startsWith('250')) return reply;
  }
  const reply = await client.command('DATA');
  if (!reply.startsWith('354')) return reply;
  client.write(message);
  return client.command('\r\n.');
}

async function onlyMessage() {
  const [row] = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  if (row === undefined) throw new Error('nothing was stored');
  const body = await fixture.ctx.store.body(fixture.by.account.id, row.id);
  return { row, raw: Buffer.from(body?.body?.raw ?? []).toString('utf8') };
}

describe('before TLS', () => {
  test('AUTH is neither offered nor accepted, and no mail is accepted', async () => {
    const client = await connected();
    const plain = await client.hello();
    expect(plain).toContain('STARTTLS');
    expect(plain).toContain('ENHANCEDSTATUSCODES');
    expect(plain).toContain('SIZE 100000');
    expect(plain).not.toContain('AUTH');
    expect(await client.login(fixture.token)).toStartWith('538 5.7.');
    // Not "authentication required": the client would look for an AUTH that is not offered.
    expect(await client.command('MAIL FROM:<a@acme.example>')).toStartWith(
      '530 5.7.0 Must issue a STARTTLS command first',
    );
  });

  test.each(['TLSv1', 'TLSv1.1'] as const)('%s is not spoken', async (version) => {
    // The server runs in this process, so the client must not block it.
    const shake = Bun.spawn(
      [
        'openssl',
        's_client',
        '-connect',
        `127.0.0.1:${fixture.submissions.port}`,
        version === 'TLSv1' ? '-tls1' : '-tls1_1',
        '-cipher',
        'ALL:@SECLEVEL=0',
      ],
      { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    );
    const said =
      (await new Response(shake.stdout).text()) + (await new Response(shake.stderr).text());
    expect(said).toContain('alert protocol version');
    expect(await shake.exited).not.toBe(0);
  });
});

test('AUTH is offered after TLS, by STARTTLS and from the start', async () => {
  const client = await connected();
  expect(await client.hello(true)).toMatch(/AUTH PLAIN LOGIN\r?$/m);
  const implicit = await RawClient.openTls(fixture.submissions);
  clients.push(implicit);
  expect(await implicit.hello()).toMatch(/AUTH PLAIN LOGIN\r?$/m);
  expect(await implicit.login(fixture.token)).toStartWith('235');
});

test('after the 250 the message is on disk, listed and logged, with its event', async () => {
  const client = await loggedIn();
  const reply = await send(client);
  expect(reply).toMatch(/^250 2\.0\.0 OK queued as [0-9a-f-]{36}$/);
  const { row, raw } = await onlyMessage();
  expect(reply).toContain(row.id);
  expect(row).toMatchObject({
    from: 'Acme <hello@acme.example>',
    to: ['Ann <ann@receiver.example>'],
    subject: 'Grüße',
    status: 'queued',
    messageId: `<${row.id}@mail.appliance.example>`,
  });
  expect(raw).toContain('\r\n\r\nHello.');
  expect((await fixture.ctx.store.events(row.id)).map(({ type }) => type)).toEqual([
    'email.queued',
  ]);
  expect(fixture.sink.messages.map(({ message }) => message.id)).toEqual([row.id]);
  await Promise.all(fixture.logWrites);
  const log = await fixture.ctx.store.log(fixture.by.account.id, row.logId ?? '');
  expect(log).toMatchObject({
    method: 'SMTP',
    status: 200,
    messageId: row.id,
    keyName: 'smtp',
    ip: '127.0.0.1',
  });
  expect(JSON.stringify(log)).not.toContain(fixture.token);
});

test('the envelope decides: a recipient in no header field is a Bcc', async () => {
  const client = await loggedIn();
  const message = MESSAGE.replace(
    'Subject:',
    'Cc: ben@receiver.example, not-sent@receiver.example\r\nBcc: dan@x.example\r\nSubject:',
  );
  await send(client, message, [
    'ann@receiver.example',
    'BEN@receiver.example',
    'cy@receiver.example',
    'ann@receiver.example',
  ]);
  const { row, raw } = await onlyMessage();
  expect([row.to, row.cc, row.bcc]).toEqual([
    ['Ann <ann@receiver.example>'],
    ['BEN@receiver.example'],
    ['cy@receiver.example'],
  ]);
  expect(raw).not.toMatch(/^bcc:/im);
  expect(raw).toContain('not-sent@receiver.example');
  const recipients = await fixture.ctx.store.recipients(row.id);
  expect(recipients.map(({ kind, address }) => [kind, address])).toEqual([
    ['to', 'ann@receiver.example'],
    ['cc', 'BEN@receiver.example'],
    ['bcc', 'cy@receiver.example'],
  ]);
});

test('tags and the idempotency key are read from header fields and taken out', async () => {
  const client = await loggedIn();
  const with_ = (field: string, text = 'Hello.'): string =>
    MESSAGE.replace('Subject:', `${field}\r\nX-Tag-Kind: welcome\r\nSubject:`).replace(
      'Hello.',
      text,
    );
  const first = await send(client, with_('Idempotency-Key: k1'));
  // A program that tries again generates a new Date and Message-ID; the older spelling of the field works too.
  const retry = with_(
    'Resend-Idempotency-Key: k1\r\nDate: Mon, 05 Jan 2026 10:00:00 +0000\r\nMessage-ID: <other@client.example>',
  );
  expect(await send(client, retry)).toBe(first);
  const { row, raw } = await onlyMessage();
  expect(row.tags).toEqual([{ name: 'Kind', value: 'welcome' }]);
  expect(raw).not.toMatch(/idempotency|x-tag/i);
  expect(await send(client, with_('Idempotency-Key: k1', 'Other.'))).toStartWith(
    '554 5.5.0 This idempotency key',
  );
  expect(await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10)).toHaveLength(1);
});

test('a sandbox key delivers nothing and needs no domain', async () => {
  const { token } = await createKey(fixture.ctx, fixture.by.account.id, {
    name: 't',
    permission: 'sending_access',
    isTest: true,
  });
  const client = await loggedIn(token);
  expect(await send(client, MESSAGE.replace('acme.example', 'nobody.example'))).toMatch(
    /^250 2\.0\.0 OK sent/,
  );
  expect((await onlyMessage()).row.isSandbox).toBe(true);
  expect(fixture.sink.messages).toEqual([]);
});

test('one-click unsubscribe is granted for one recipient, and refused for several', async () => {
  const client = await loggedIn();
  const request = MESSAGE.replace('Subject:', 'X-Postrider-Unsubscribe: yes\r\nSubject:');
  expect(await send(client, request, ['ann@receiver.example', 'b@receiver.example'])).toStartWith(
    '554 5.6.0',
  );
  expect(await send(client, request)).toStartWith('250');
  const { raw } = await onlyMessage();
  expect(raw).toMatch(
    new RegExp(
      '^List-Unsubscribe: <http://127\\.0\\.0\\.1:8025/unsubscribe/[\\w-]{38}>\r\n' +
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n',
    ),
  );
  expect(raw).not.toContain('X-Postrider-Unsubscribe');
});

describe('refusals have the text of the API and a fitting code', () => {
  test('a wrong key, and a block after too many, which a valid key does not meet', async () => {
    const client = await connected();
    await client.hello(true);
    expect(await client.login('pr_live_wrongwrongwrongwrong')).toBe(
      '535 5.7.8 The API key is invalid or has been revoked.',
    );
    for (let n = 0; n < 9; n += 1) await client.login(`pr_live_wrongwrongwrong${n}`);
    expect(await client.login('pr_live_wrongwrongwrongwrong')).toStartWith('421 4.7.0');
    await client.closed;
    const again = await connected();
    await again.hello(true);
    expect(await again.login('pr_live_wrongwrongwrongwrong')).toStartWith('421 4.7.0');
    const valid = await connected();
    await valid.hello(true);
    expect(await valid.login(fixture.token)).toStartWith('235');
    await fixture.clock.advance(16 * 60_000);
    const later = await connected();
    await later.hello(true);
    expect(await later.login('pr_live_wrongwrongwrongwrong')).toStartWith('535');
  });

  test('a key that is revoked in the middle of a session', async () => {
    const { key, token } = await createKey(fixture.ctx, fixture.by.account.id, {
      name: 'x',
      permission: 'sending_access',
    });
    const client = await loggedIn(token);
    expect(await send(client)).toStartWith('250');
    await revokeKey(fixture.ctx, fixture.by.account.id, key.id);
    expect(await send(client)).toStartWith('535 5.7.8');
  });

  test.each([
    [
      'a domain of nobody',
      MESSAGE.replace('acme.example', 'nobody.example'),
      '550 5.7.1 The domain nobody.example is not one of',
    ],
    [
      'no From',
      MESSAGE.replace(/^From.*\r\n/, ''),
      '554 5.6.0 The message must have exactly one From',
    ],
    [
      'two From',
      `From: b@acme.example\r\n${MESSAGE}`,
      '554 5.6.0 The message must have exactly one From',
    ],
    ['a tag with spaces', `X-Tag-A: b c\r\n${MESSAGE}`, '554 5.6.0 X-Tag-A'],
    ['too many bytes', `${MESSAGE}${'x'.repeat(900)}\r\n`.repeat(120), '552 5.3.4 The message has'],
  ])('%s', async (_, message, reply) => {
    const client = await loggedIn();
    expect(await send(client, message)).toStartWith(reply);
    expect(await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10)).toEqual([]);
    // The session continues.
    expect(await send(client)).toStartWith('250');
  });

  test('a declared size beyond the limit, at once', async () => {
    const client = await loggedIn();
    expect(await client.command('MAIL FROM:<a@x.example> SIZE=100001')).toStartWith('552 5.3.4');
  });

  test('a halt and a paused account, before any data', async () => {
    const client = await loggedIn();
    await fixture.ctx.halt.halt('Moving.');
    const mail = 'MAIL FROM:<a@x.example>';
    expect(await client.command(mail)).toBe('452 4.3.1 Sending is halted: Moving.');
    // Both at once: the halt passes, so the client is told to try again.
    await setAccountStatus(fixture.ctx, 'acme', 'paused', 'Too many bounces.');
    expect(await client.command(mail)).toBe('452 4.3.1 Sending is halted: Moving.');
    await fixture.ctx.halt.resume();
    expect(await client.command(mail)).toBe('550 5.7.1 This account is paused. Too many bounces.');
  });

  test('a paused account', async () => {
    const client = await loggedIn();
    await setAccountStatus(fixture.ctx, 'acme', 'paused', 'Too many bounces.');
    expect(await send(client)).toBe('550 5.7.1 This account is paused. Too many bounces.');
  });

  test('quota and rate, to be tried again later', async () => {
    const tiny = await fixture.sender({ name: 'tiny', plan: 'tiny' });
    await fixture.verified(tiny, 'acme.example');
    const { token } = await createKey(fixture.ctx, tiny.account.id, {
      name: 'k',
      permission: 'sending_access',
    });
    const client = await loggedIn(token);
    expect(await send(client)).toStartWith('250');
    expect(await send(client)).toStartWith('450 4.7.1 This request goes beyond the monthly limit');
    fixture.rate.left = 0;
    expect(await send(client)).toStartWith(
      '450 4.7.1 This account can make 100 send requests per second',
    );
  });

  test('invalid addresses, and characters that require SMTPUTF8', async () => {
    const client = await loggedIn();
    expect(await send(client, MESSAGE, ['ann@localhost'])).toStartWith('553 5.1.3');
    await client.command('RSET');
    expect(await send(client, MESSAGE, ['ännchen@receiver.example'])).toStartWith('553 5.6.7');
    await client.command('RSET');
    expect(await client.command('MAIL FROM:<a@x.example> SMTPUTF8')).toStartWith('250');
    expect(await client.command('RCPT TO:<ännchen@receiver.example>')).toStartWith('250');
  });

  test('more than fifty recipients: the fifty-first is told to try later', async () => {
    const client = await loggedIn();
    const many = Array.from({ length: 51 }, (_, n) => `r${n}@receiver.example`);
    expect(await send(client, MESSAGE, many)).toStartWith('452 4.5.3');
    await client.command('RSET');
    expect(await send(client, MESSAGE, many.slice(1))).toStartWith('250');
  });
});

test('a suppressed recipient is left out, as over the API', async () => {
  await addSuppression(fixture.ctx, fixture.by.account.id, { email: 'ann@receiver.example' });
  const client = await loggedIn();
  expect(await send(client)).toMatch(/^250 2\.0\.0 OK suppressed/);
  expect((await onlyMessage()).row.status).toBe('suppressed');
});

test('a client that leaves before the final dot has sent nothing', async () => {
  const client = await loggedIn();
  await client.command('MAIL FROM:<a@x.example>');
  await client.command('RCPT TO:<ann@receiver.example>');
  await client.command('DATA');
  client.write(`${MESSAGE}\r\nmore`);
  client.socket.end();
  await client.closed;
  // Another whole transaction shows that the server has been past the first one.
  expect(await send(await loggedIn())).toStartWith('250');
  expect(await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10)).toHaveLength(1);
  expect(fixture.logged.filter(({ level }) => level === 'error')).toEqual([]);
});

test('a message in progress when the listeners stop is finished; new clients are refused', async () => {
  const client = await loggedIn();
  const idle = await connected();
  await idle.hello();
  await client.command('MAIL FROM:<a@x.example>');
  await client.command('RCPT TO:<ann@receiver.example>');
  await client.command('DATA');
  client.write(MESSAGE);
  const stopped = fixture.server.stop();
  expect(await idle.reply()).toStartWith('421 4.3.2');
  expect(listensAt(fixture.submission.port)).toBe(false);
  expect(await client.command('\r\n.')).toStartWith('250 2.0.0');
  client.close();
  await stopped;
  expect((await onlyMessage()).row.status).toBe('queued');
}, 15_000);

test('a renewed certificate is presented to new clients after a reload', async () => {
  const shown = async (): Promise<string> => {
    const client = await RawClient.openTls(fixture.submissions);
    clients.push(client);
    return (client.socket as TLSSocket).getPeerCertificate().fingerprint256;
  };
  const before = await shown();
  const next = testAuthority().issue(['mail.appliance.example']);
  const { tlsCert, tlsKey } = fixture.ctx.config.live.smtp;
  writeFileSync(tlsCert, next.cert);
  writeFileSync(tlsKey, next.key);
  expect(await shown()).toBe(before);
  expect(fixture.server.prepare(fixture.ctx.config)()).toBe(true);
  expect(await shown()).toBe(new X509Certificate(next.cert).fingerprint256);
});
