/** Submission on a developer's machine: without TLS, with any key or none, and who the sender is then. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Listen } from '../../src/base/config.ts';
import type { Identity } from '../../src/flow/draft.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const MESSAGE = 'From: a@acme.example\r\nTo: ann@receiver.example\r\nSubject: Hi\r\n\r\nHello.\r\n';

let fixture: SmtpFixture;
let server: SubmissionServer;
/** Who is asked about, and for whom memory is taken. */
let asked: unknown[];
let developer: Identity | null;
let submission: Listen;
let submissions: Listen;
const clients: RawClient[] = [];

beforeEach(async () => {
  fixture = await openSmtpFixture();
  asked = [];
  const { requestId: _, ...identity } = fixture.by;
  developer = identity as Identity;
  const { budget } = fixture.ctx;
  const openShare = budget.open.bind(budget);
  budget.open = (owner) => (asked.push(`open for "${owner}"`), openShare(owner));
  const emulation = {
    identify: (token: string | null) => Promise.resolve((asked.push(token), developer)),
    verified: () => Promise.reject(new Error('the domain is verified')),
  };
  server = new SubmissionServer(
    { ...fixture.ctx, emulation },
    { queue: fixture.sink, rates: { take: () => ({ isAllowed: true, retrySeconds: 1 }) } },
  );
  const started = await server.start();
  const nowhere = { host: '', port: 0 };
  [submission = nowhere, submissions = nowhere] = [started.submission[0], started.submissions[0]];
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.stop();
  await fixture.close();
});

async function greeted(to: Listen, isTls = false): Promise<RawClient> {
  const client = await (isTls ? RawClient.openTls(to) : RawClient.open(to));
  clients.push(client);
  await client.hello();
  return client;
}

/** The replies to an envelope, and to a message. */
async function send(client: RawClient): Promise<string[]> {
  const replies: string[] = [];
  for (const step of ['MAIL FROM:<a@x.example>', 'RCPT TO:<ann@receiver.example>', 'DATA']) {
    replies.push((await client.command(step)).slice(0, 9));
  }
  client.write(MESSAGE);
  replies.push((await client.command('.')).slice(0, 19));
  return replies;
}

const TAKEN = ['250 2.1.0', '250 2.1.5', '354 End d', '250 2.0.0 OK queued'];

test('who has no key is asked about before and behind the message, and sends as the developer, without TLS or with it', async () => {
  for (const client of [await greeted(submission), await greeted(submissions, true)]) {
    expect(await send(client)).toEqual(TAKEN);
    expect(asked.splice(0)).toEqual([null, 'open for ""', null]);
  }
  const emails = await fixture.ctx.store.emailsByPage(fixture.by.account.id, 1, 10);
  expect(emails).toHaveLength(2);
});

test('a key that the store does not have is asked about by its text', async () => {
  const client = await greeted(submission);
  expect(await client.login('any key')).toStartWith('235 2.7.0');
  expect(await send(client)).toEqual(TAKEN);
  // What was found is known for some time.
  expect(asked).toEqual(['any key', `open for "${fixture.by.account.id}"`]);
});

test('nobody sends nothing', async () => {
  developer = null;
  const client = await greeted(submission);
  expect(await client.command('MAIL FROM:<a@x.example>')).toBe(
    '535 5.7.8 The API key is invalid or has been revoked.',
  );
  expect(asked).toEqual([null]);
});
