/** Sessions that the server ends, and commands that it fails: when, in which words, and what the operator reads of it. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { SubmissionServer, type Rates } from '../../src/smtp/submission.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import { Reports } from '../../src/flow/reports/reports.ts';
import type { ListenerLimits } from '../../src/smtp/limits.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { listensAt } from '../rig/descriptors.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture | null = null;
const clients: RawClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture?.close();
  fixture = null;
});

async function opened(limits: Partial<ListenerLimits> = {}): Promise<SmtpFixture> {
  fixture = await openSmtpFixture({ submission: limits, inbound: limits });
  return fixture;
}

async function client(to: { host: string; port: number }): Promise<RawClient> {
  const one = await RawClient.open(to);
  clients.push(one);
  return one;
}

async function loggedIn({ submission, token }: SmtpFixture): Promise<RawClient> {
  const one = await client(submission);
  await one.hello(true);
  expect(await one.login(token)).toStartWith('235 2.7.0');
  return one;
}

test('a session has its time to the millisecond, and is told that it has none left', async () => {
  const { submission, clock } = await opened({ sessionMs: 4_000 });
  // A wall clock that was set, before or meanwhile, neither ends it nor gives it time.
  clock.jump(3_600_000);
  const one = await client(submission);
  await one.hello();
  await clock.advance(3_999);
  expect(await one.command('NOOP')).toBe('250 2.0.0 OK');
  await clock.advance(1);
  expect(await one.reply()).toBe('421 4.4.2 Session time limit reached');
  await one.closed;
});

test('sessions are looked at every two seconds, and each has its own time', async () => {
  const { inbound, clock } = await opened({ sessionMs: 4_000 });
  await clock.advance(1_000);
  const one = await client(inbound);
  await one.hello();
  await clock.advance(4_999);
  expect(await one.command('NOOP')).toBe('250 2.0.0 OK');
  await clock.advance(1);
  expect(await one.reply()).toBe('421 4.4.2 Session time limit reached');
});

test('a handshake that is not finished has the time of a session', async () => {
  const { submissions, clock } = await opened({ sessionMs: 4_000 });
  // A wall clock that was set, before or meanwhile, neither ends it nor gives it time.
  clock.jump(3_600_000);
  const one = await client(submissions);
  let isClosed = false;
  void one.closed.then(() => (isClosed = true));
  // A second client that is let in shows that the server has seen the first one.
  clients.push(await RawClient.openTls(submissions));
  await clock.advance(3_999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await one.closed;
});

test('before TLS a client is told to begin it, and after it to log in', async () => {
  const { submission } = await opened();
  const one = await client(submission);
  await one.hello();
  const mail = 'MAIL FROM:<a@acme.example>';
  expect(await one.command(mail)).toBe('530 5.7.0 Must issue a STARTTLS command first');
  const other = await client(submission);
  await other.hello(true);
  expect(await other.command(mail)).toBe('530 5.7.0 Error: authentication Required');
});

test('silence ends a session', async () => {
  const { inbound } = await opened({ idleMs: 20 });
  const one = await client(inbound);
  expect(await one.reply()).toBe('421 4.4.2 Timeout - closing connection');
  await one.closed;
});

test('one session too many from an address, and one key tried too often', async () => {
  const { submission, inbound } = await opened({ connectionsPerAddress: 1 });
  const one = await client(submission);
  await one.hello(true);
  const second = await client(submission);
  expect(await second.reply()).toBe(
    '421 4.7.0 mail.appliance.example too many connections from your address',
  );
  await second.closed;
  for (let n = 0; n < 10; n += 1) expect(await one.login('pr_wrong')).toStartWith('535 5.7.8 ');
  expect(await one.login('pr_wrong')).toBe(
    '421 4.7.0 Too many failed logins from your address. Try again later.',
  );
  const guess = await client(inbound);
  await guess.hello();
  await guess.command('MAIL FROM:<>');
  for (let n = 0; n < 20; n += 1) {
    expect(await guess.command('RCPT TO:<x@y.example>')).toStartWith('550 5.1.1 ');
  }
  // What is ours is still taken from it.
  expect(await guess.command('RCPT TO:<postmaster>')).toStartWith('250 ');
  expect(await guess.command('RCPT TO:<x@y.example>')).toBe(
    '421 4.7.0 Too many unknown recipients.',
  );
});

test('a fault of ours is logged with its cause and a hint, and the client learns nothing of it', async () => {
  const opens = await opened();
  const { ctx, logged } = opens;
  const one = await loggedIn(opens);
  ctx.halt.refuse = () => {
    throw new Error('secret cause');
  };
  expect(await one.command('MAIL FROM:<a@x.example>')).toBe(
    '451 4.3.0 The service failed to handle this command. Try again later.',
  );
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([
    {
      event: 'smtp_command_failed',
      error: { message: 'secret cause' },
      hint: 'The client was told to try again. This is a bug in Postrider: report it with this log line.',
    },
  ]);
});

test('a refusal is no fault: nothing is logged of it', async () => {
  const opens = await opened();
  const one = await loggedIn(opens);
  expect(await one.command('MAIL FROM:<ä@x.example>')).toStartWith('553 5.6.7 ');
  expect(opens.logged).toEqual([]);
});

test('a declared size that the memory has no space for is refused in words', async () => {
  const opens = await opened();
  const one = await loggedIn(opens);
  opens.ctx.budget.isFree = () => false;
  const busy = '452 4.3.1 The server is receiving too much mail right now. Try again later.';
  expect(await one.command('MAIL FROM:<a@x.example>')).toBe(busy);
  const report = await client(opens.inbound);
  await report.hello();
  expect(await report.command('MAIL FROM:<>')).toBe(busy);
});

test('the size that is asked for is the declared one, of a report its first MiB, and whose it is', async () => {
  const opens = await opened();
  const asked: unknown[] = [];
  opens.ctx.budget.isFree = (...question) => {
    asked.push(question);
    return true;
  };
  const one = await loggedIn(opens);
  await one.command('MAIL FROM:<a@x.example> SIZE=36000 BODY=8BITMIME');
  const report = await client(opens.inbound);
  await report.hello();
  for (const parameters of ['', ' SIZE=1048575', ' SIZE=1048577']) {
    await report.command(`MAIL FROM:<>${parameters}`);
    await report.command('RSET');
  }
  expect(asked).toEqual([
    [36_000, opens.by.account.id],
    [0, 'inbound'],
    [1_048_575, 'inbound'],
    [1_048_576, 'inbound'],
  ]);
});

test('a message counts against the rate of its account in a second, as over the API', async () => {
  const opens = await opened();
  const asked: unknown[] = [];
  const rates: Rates = {
    take: (...question) => {
      asked.push(question);
      return { isAllowed: false, retrySeconds: 1 };
    },
  };
  const server = new SubmissionServer(opens.ctx, { queue: opens.sink, rates });
  const [submission] = (await server.start()).submission;
  if (submission === undefined) throw new Error('no listener');
  const one = await loggedIn({ ...opens, submission });
  await one.command('MAIL FROM:<a@x.example>');
  await one.command('RCPT TO:<ann@receiver.example>');
  await one.command('DATA');
  expect(await one.command('From: hello@acme.example\r\n\r\nx\r\n.')).toBe(
    '450 4.7.1 This account can make 100 send requests per second.',
  );
  expect(asked).toEqual([[`send ${opens.by.account.id}`, 100, 1_000]]);
  await server.stop();
});

test('a reload that changes the recipients of a message holds for sessions to come, and counts as no certificate', async () => {
  const { ctx, server, submission, token, ...rest } = await opened();
  const { live } = ctx.config;
  const config = {
    ...ctx.config,
    live: { ...live, limits: { ...live.limits, recipients: 1 } },
  };
  const takeOver = server.prepare(config);
  expect(takeOver()).toBe(false);
  const one = await loggedIn({ ...rest, ctx, server, submission, token });
  await one.command('MAIL FROM:<a@x.example>');
  expect(await one.command('RCPT TO:<a@y.example>')).toStartWith('250 ');
  expect(await one.command('RCPT TO:<b@y.example>')).toStartWith('452 4.5.3 ');
});

test('without a listener a reload reads no certificate, and nothing changes', async () => {
  const { ctx, sink } = await opened();
  const smtp = {
    ...ctx.config.live.smtp,
    tlsCert: '/no/such',
    tlsKey: '/no/such',
  };
  const config = { ...ctx.config, live: { ...ctx.config.live, smtp } };
  const rates: Rates = { take: () => ({ isAllowed: true, retrySeconds: 0 }) };
  expect(new SubmissionServer(ctx, { queue: sink, rates }).prepare(config)()).toBe(false);
  expect(new InboundServer(ctx, new Reports(ctx, sink)).prepare(config)()).toBe(false);
});

test('a listener that rests lets nobody in, keeps its sessions, and listens at the same address again', async () => {
  const { server, submission } = await opened();
  const one = await client(submission);
  await one.hello();
  const [listener] = server.listeners;
  listener?.rest();
  expect(listensAt(submission.port)).toBe(false);
  expect(await one.command('NOOP')).toBe('250 2.0.0 OK');
  await listener?.listenAgain();
  expect(await (await client(submission)).reply()).toStartWith('220 ');
});

test('as it stops, a session without a message is told so, and one with a message has eight seconds', async () => {
  const opens = await opened();
  const [idle, busy] = [await loggedIn(opens), await loggedIn(opens)];
  for (const step of ['MAIL FROM:<a@x.example>', 'RCPT TO:<ann@receiver.example>', 'DATA']) {
    expect(await busy.command(step)).toMatch(/^[23]5[04] /);
  }
  const armed = spyOn(globalThis, 'setTimeout');
  const stopped = opens.server.stop();
  const delays = armed.mock.calls.map(([, ms]) => ms);
  armed.mockRestore();
  expect(await idle.reply()).toBe('421 4.3.2 The service is shutting down. Try again soon.');
  await idle.closed;
  expect(delays).toContain(8_000);
  expect(await busy.command('From: hello@acme.example\r\n\r\nx\r\n.')).toStartWith('250 2.0.0 OK');
  expect(await busy.command('RSET')).toBe('421 4.4.2 Server shutting down');
  await stopped;
});
