/** What a session of submission asks of the rest of the service, and what it reads of what a client says. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';

import type { Listen } from '../../src/base/config.ts';
import { createKey, revokeKey } from '../../src/flow/accounts/keys.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const MESSAGE = 'From: a@acme.example\r\nTo: ann@receiver.example\r\nSubject: Hi\r\n\r\nHello.\r\n';
const INVALID = '535 5.7.8 The API key is invalid or has been revoked.';

let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeAll(async () => {
  fixture = await openSmtpFixture({ toml: '[[plans]]\nid = "slow"\nrate_per_second = 7\n' });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => fixture.close());

async function connected(to: Listen = fixture.submission): Promise<RawClient> {
  const client = await RawClient.open(to);
  clients.push(client);
  await client.hello(true);
  return client;
}

async function loggedIn(token: string, to?: Listen): Promise<RawClient> {
  const client = await connected(to);
  expect(await client.login(token)).toStartWith('235 2.7.0');
  return client;
}

/** A key of an account that may send from acme.example. */
async function keyOf(accountId: string, permission: 'sending_access' | 'full_access') {
  return createKey(fixture.ctx, accountId, { name: 'k', permission });
}

/** The replies to an envelope, and to `MESSAGE`. */
async function send(client: RawClient): Promise<string> {
  await client.command('MAIL FROM:<a@x.example>');
  await client.command('RCPT TO:<ann@receiver.example>');
  await client.command('DATA');
  client.write(MESSAGE);
  return client.command('.');
}

test('each message is counted once, at the rate of its account and plan, a sandbox key on its own', async () => {
  const taken: unknown[] = [];
  const server = new SubmissionServer(fixture.ctx, {
    queue: fixture.sink,
    rates: {
      take(...asked) {
        taken.push(asked);
        return { isAllowed: true, retrySeconds: 1 };
      },
    },
  });
  const { submission } = await server.start();
  const [at] = submission;
  const slow = await fixture.sender({ name: 'slow', plan: 'slow' });
  await fixture.verified(slow, 'acme.example');
  const { id } = slow.account;
  const live = await keyOf(id, 'sending_access');
  const sandbox = await createKey(fixture.ctx, id, {
    name: 's',
    permission: 'sending_access',
    isTest: true,
  });
  const one = await loggedIn(live.token, at);
  expect(await send(one)).toStartWith('250');
  expect(await send(one)).toStartWith('250');
  expect(await send(await loggedIn(sandbox.token, at))).toStartWith('250');
  await server.stop();
  expect(taken).toEqual([
    [`send ${id}`, 7, 1_000],
    [`send ${id}`, 7, 1_000],
    [`send ${id} sandbox`, 7, 1_000],
  ]);
});

test.each([' ', '\r\n', '\t'])(
  'a key that was pasted with %j around it is the key',
  async (space) => {
    const client = await connected();
    expect(await client.login(`${space}${fixture.token}${space}`)).toStartWith('235');
  },
);

test('a key that is revoked while its message comes in sends nothing', async () => {
  const { key, token } = await keyOf(fixture.by.account.id, 'full_access');
  const client = await loggedIn(token);
  await client.command('MAIL FROM:<a@x.example>');
  await client.command('RCPT TO:<ann@receiver.example>');
  await client.command('DATA');
  client.write(MESSAGE);
  await revokeKey(fixture.ctx, fixture.by.account.id, key.id);
  expect(await client.command('.')).toBe(INVALID);
  expect(await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10)).toEqual([]);
});

test('wrong keys count together, whichever listener they are tried at', async () => {
  const server = new SubmissionServer(fixture.ctx, {
    queue: fixture.sink,
    rates: { take: () => ({ isAllowed: true, retrySeconds: 1 }) },
  });
  const { submission, submissions } = await server.start();
  const [plain, implicit] = [submission[0], submissions[0]];
  if (plain === undefined || implicit === undefined) throw new Error('not listening');
  const one = await connected(plain);
  for (let n = 0; n < 5; n += 1) expect(await one.login('wrong')).toBe(INVALID);
  const other = await RawClient.openTls(implicit);
  clients.push(other);
  await other.hello();
  for (let n = 0; n < 5; n += 1) expect(await other.login('wrong')).toBe(INVALID);
  const words = '421 4.7.0 Too many failed logins from your address. Try again later.';
  expect(await one.login('wrong')).toBe(words);
  expect(await other.login('wrong')).toBe(words);
  await server.stop();
});

test('without SMTPUTF8 a sender has ASCII alone, and a recipient before the @', async () => {
  const client = await loggedIn(fixture.token);
  const words = '553 5.6.7 An address with non-ASCII characters requires SMTPUTF8.';
  expect(await client.command('MAIL FROM:<ä@x.example>')).toBe(words);
  expect(await client.command('MAIL FROM:<a@x.example>')).toStartWith('250');
  expect(await client.command('RCPT TO:<jörg@receiver.example>')).toBe(words);
  // A name of the DNS has a form in ASCII.
  expect(await client.command('RCPT TO:<ann@bücher.example>')).toStartWith('250');
});
