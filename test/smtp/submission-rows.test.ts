/** What stays of a session of submission: rows of the request log, the times of what is made, and what a repeat leaves. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { setAccountStatus } from '../../src/flow/accounts/accounts.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { StoreFullError } from '../../src/store/store.ts';
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

async function loggedIn(token: string): Promise<RawClient> {
  const client = await RawClient.open(fixture.submission);
  clients.push(client);
  await client.hello(true);
  expect(await client.login(token)).toStartWith('235 2.7.0');
  return client;
}

/** A key of the fixture's account. */
const keyOf = (isTest: boolean) =>
  createKey(fixture.ctx, fixture.by.account.id, {
    name: isTest ? 'till' : 'shop',
    permission: isTest ? 'sending_access' : 'full_access',
    isTest,
  });

async function send(client: RawClient, message: string, from = 'a@x.example'): Promise<string> {
  for (const step of [`MAIL FROM:<${from}>`, 'RCPT TO:<Ann@receiver.example>', 'DATA']) {
    expect(await client.command(step)).toMatch(/^[23]5[04] /);
  }
  client.write(message);
  return client.command('.');
}

/** Every row of the log, the oldest first. */
async function rows() {
  await Promise.all(fixture.logWrites);
  const { store } = fixture.ctx;
  const { id } = fixture.by.account;
  const page = { limit: 50, after: null, before: null, q: null, status: null, method: null };
  const { rows: listed } = await store.logs(id, page);
  return Promise.all(listed.toReversed().map((row) => store.log(id, row.id)));
}

const MESSAGE =
  'From: hello@acme.example\r\nTo: Ann@receiver.example\r\nSubject: Hi\r\n\r\nHello.\r\n';

/** The time inside an id (RFC 9562 section 5.7). */
const timeOf = (id: string | undefined): number =>
  Number.parseInt(id?.replaceAll('-', '').slice(0, 12) ?? '', 16);

test('each message has a row with its key, its envelope and its reply, taken or refused', async () => {
  const { account } = fixture.by;
  const [live, sandbox] = [await keyOf(false), await keyOf(true)];
  await fixture.clock.advance(5_000);
  const at = fixture.clock.now();
  const one = await loggedIn(live.token);
  const taken = await send(one, MESSAGE);
  const foreign = MESSAGE.replace('acme.example', 'other.example');
  const refused = await send(one, foreign, '');
  fixture.rate.left = 1;
  const simulated = await send(await loggedIn(sandbox.token), MESSAGE);
  const limited = await send(one, MESSAGE);
  expect(limited).toBe('450 4.7.1 This account can make 100 send requests per second.');
  const emails = (await fixture.ctx.store.emailsByPage(account.id, 1, 10)).toReversed();
  expect(emails.map(({ id }) => [taken, simulated].some((reply) => reply.endsWith(id)))).toEqual([
    true,
    true,
  ]);
  const request = (bytes: number, from = 'a@x.example') =>
    JSON.stringify({ mail_from: from, rcpt_to: ['Ann@receiver.example'], bytes });
  const row = {
    id: expect.any(String) as string,
    accountId: account.id,
    keyId: live.key.id,
    keyName: 'shop',
    keyPermission: 'full_access' as const,
    isSandbox: false,
    method: 'SMTP',
    path: '/smtp',
    durationMs: 0,
    messageId: null,
    userAgent: 'client.example',
    ip: '127.0.0.1',
    requestBody: request(MESSAGE.length),
    createdAt: at,
  };
  const till = { keyId: sandbox.key.id, keyName: 'till', keyPermission: 'sending_access' as const };
  const found = await rows();
  expect(found).toEqual([
    { ...row, status: 200, messageId: emails[0]?.id ?? '', responseBody: taken },
    { ...row, status: 403, requestBody: request(foreign.length, ''), responseBody: refused },
    {
      ...row,
      ...till,
      isSandbox: true,
      status: 200,
      messageId: emails[1]?.id ?? '',
      responseBody: simulated,
    },
    { ...row, status: 503, responseBody: limited },
  ]);
  // Rows and emails sort by when they were made.
  expect(found.map((one_) => timeOf(one_?.id))).toEqual([at, at, at, at]);
  expect(emails.map(({ id }) => timeOf(id))).toEqual([at, at]);
  expect(emails.map(({ logId }) => logId)).toEqual([found[0]?.id ?? '', found[2]?.id ?? '']);
});

test('a repeat has a row of its own, which names no email: it made none', async () => {
  const { key, token } = await keyOf(false);
  const client = await loggedIn(token);
  const keyed = `Idempotency-Key: Order-1\r\n${MESSAGE}`;
  const first = await send(client, keyed);
  expect(await send(client, keyed)).toBe(first);
  // Keys differ by their case too.
  const other = await send(client, keyed.replace('Order', 'order'));
  expect(other).toStartWith('250 2.0.0 OK queued as ');
  expect(other).not.toBe(first);
  const emails = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  expect(emails).toHaveLength(2);
  const found = await rows();
  expect(found.map((row) => [row?.keyId, row?.status, row?.messageId, row?.responseBody])).toEqual([
    [key.id, 200, first.slice(-36), first],
    [key.id, 200, null, first],
    [key.id, 200, other.slice(-36), other],
  ]);
});

test('a message without a date has that of the service, and one with its own keeps it', async () => {
  await fixture.clock.advance(61_000);
  const client = await loggedIn(fixture.token);
  const own = 'Date: Mon, 05 Jan 2026 10:00:00 +0100';
  for (const message of [MESSAGE, `${own}\r\n${MESSAGE}`]) {
    expect(await send(client, message)).toStartWith('250 ');
  }
  const { store } = fixture.ctx;
  const { id } = fixture.by.account;
  const emails = (await store.emailsByPage(id, 1, 10)).toReversed();
  const bodies = await Promise.all(emails.map((email) => store.body(id, email.id)));
  const dates = bodies.map((body) =>
    /^Date: .*$/m.exec(Buffer.from(body?.body?.raw ?? []).toString())?.[0].trim(),
  );
  const now = new Date(fixture.clock.now()).toUTCString().replace('GMT', '+0000');
  expect(dates).toEqual([`Date: ${now}`, own]);
});

test('a halt, a pause or a full store while a message comes in refuses it, with a row', async () => {
  const { ctx, token } = fixture;
  const client = await loggedIn(token);
  const sendWhen = async (happens: () => Promise<unknown>): Promise<string> => {
    for (const step of ['MAIL FROM:<>', 'RCPT TO:<ann@receiver.example>', 'DATA']) {
      expect(await client.command(step)).toMatch(/^[23]5[04] /);
    }
    client.write(MESSAGE);
    await happens();
    return client.command('.');
  };
  const halted = await sendWhen(() => ctx.halt.halt('Moving.'));
  expect(halted).toBe('452 4.3.1 Sending is halted: Moving.');
  await ctx.halt.resume();
  const accept = ctx.store.accept.bind(ctx.store);
  const full = await sendWhen(async () => {
    ctx.store.accept = () => Promise.reject(new StoreFullError('no space'));
  });
  expect(full).toBe('452 4.3.1 This service is out of disk space. Try again later.');
  ctx.store.accept = accept;
  const paused = await sendWhen(() => setAccountStatus(ctx, 'acme', 'paused', 'Bounces.'));
  expect(paused).toBe('550 5.7.1 This account is paused. Bounces.');
  expect((await rows()).map((row) => [row?.status, row?.messageId, row?.responseBody])).toEqual([
    [503, null, halted],
    [503, null, full],
    [403, null, paused],
  ]);
  expect(await ctx.store.emailsByPage(fixture.by.account.id, 1, 10)).toEqual([]);
  // No fault of ours.
  expect(fixture.logged.filter(({ level }) => level === 'error')).toEqual([]);
});

test('a message that cannot be read costs its share of the rate too, and is told of the rate first', async () => {
  const client = await loggedIn(fixture.token);
  const unreadable = MESSAGE.replace(/^From.*\r\n/, '');
  fixture.rate.left = 1;
  expect(await send(client, unreadable)).toBe(
    '554 5.6.0 The message must have exactly one From field with exactly one address.',
  );
  expect(fixture.rate.left).toBe(0);
  for (const message of [unreadable, MESSAGE]) {
    expect(await send(client, message)).toBe(
      '450 4.7.1 This account can make 100 send requests per second.',
    );
  }
  expect((await rows()).map((row) => row?.status)).toEqual([422, 503, 503]);
});
