/** One listener by itself, with handlers of the test: when sessions end, what faults are told, and what a reload changes. */
import { afterEach, expect, test } from 'bun:test';
import type { Listen } from '../../src/base/config.ts';
import { createLog } from '../../src/base/log.ts';
import { Listener, type CommandHandlers, type ListenerOptions } from '../../src/smtp/listener.ts';
import { SmtpRefusal } from '../../src/smtp/reply.ts';
import { testAuthority } from '../rig/certificates.ts';
import { TestClock } from '../rig/clock.ts';
import { listensAt } from '../rig/descriptors.ts';
import { RawClient } from './raw-client.ts';

const LIMITS = {
  connections: 10,
  connectionsPerAddress: 5,
  sessionMs: 1_000,
  idleMs: 60_000,
  messageBytes: 1_000,
  recipients: 2,
};
const FAULT = '451 4.3.0 The service failed to handle this command. Try again later.';
const tls = testAuthority().issue(['mail.appliance.example']);

const opened: { listener: Listener; clients: RawClient[] }[] = [];
afterEach(async () => {
  for (const { listener, clients } of opened.splice(0)) {
    for (const client of clients) client.close();
    await listener.stop();
  }
});

async function open(
  more: Partial<ListenerOptions> & { does?: Partial<CommandHandlers> } = {},
): Promise<{
  listener: Listener;
  at: Listen;
  clock: TestClock;
  logged: Record<string, unknown>[];
  connect: (isTls?: boolean) => Promise<RawClient>;
}> {
  const clock = new TestClock();
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => 0,
  );
  const listener = new Listener({
    hostname: 'mail.appliance.example',
    clock,
    tls,
    isImplicitTls: false,
    limits: LIMITS,
    log,
    handlers: {
      login: null,
      mail: async () => undefined,
      recipient: async () => undefined,
      data: async () => '2.0.0 OK',
      ...more.does,
    },
    ...more,
  });
  const clients: RawClient[] = [];
  opened.push({ listener, clients });
  const at = await listener.start({ host: '127.0.0.1', port: 0 }, 'smtp.inbound');
  const connect = async (isTls = false): Promise<RawClient> => {
    const client = await (isTls ? RawClient.openTls(at) : RawClient.open(at));
    clients.push(client);
    return client;
  };
  return { listener, at, clock, logged, connect };
}

test('every two seconds sessions as old as the limit end, with a word, and younger ones go on', async () => {
  const { clock, connect } = await open();
  const old = await connect();
  await old.reply();
  await clock.advance(1_001);
  const young = await connect();
  await young.reply();
  await clock.advance(998);
  expect(await old.command('NOOP')).toStartWith('250');
  await clock.advance(1);
  expect(await old.reply()).toBe('421 4.4.2 Session time limit reached');
  await old.closed;
  expect(await young.command('NOOP')).toStartWith('250');
  await clock.advance(2_000);
  expect(await young.reply()).toBe('421 4.4.2 Session time limit reached');
  await young.closed;
});

test('a session that is exactly as old as the limit ends', async () => {
  const { clock, connect } = await open({
    limits: { ...LIMITS, sessionMs: 2_000 },
  });
  const client = await connect();
  await client.reply();
  await clock.advance(2_000);
  expect(await client.reply()).toStartWith('421 4.4.2');
});

test('with TLS from the start an unfinished handshake is given as long as a session', async () => {
  const { at, clock, connect } = await open({
    isImplicitTls: true,
    limits: { ...LIMITS, sessionMs: 4_000 },
  });
  // Its time begins with its connection, however long the listener is there and whatever the wall clock says.
  await clock.advance(10_000);
  clock.jump(-3_600_000);
  const silent = await RawClient.open(at);
  // A second client that is let in shows that the server has seen the first one.
  const second = await connect(true);
  await second.reply();
  let isClosed = false;
  const closed = silent.closed.then(() => (isClosed = true));
  await clock.advance(3_999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closed;
  silent.close();
});

test('a stopped listener looks at no session any more', async () => {
  const { listener, clock } = await open();
  expect(clock.pending()).toHaveLength(1);
  await listener.stop();
  expect(clock.pending()).toEqual([]);
});

test('a fault of ours is a 451 that tells nothing and an error in the log; a refusal is not logged', async () => {
  const fault = async (): Promise<never> => {
    throw new Error('the cause');
  };
  const { logged, connect } = await open({
    does: {
      mail: async (address) => {
        if (address === 'refused@x.example') throw new SmtpRefusal(550, '5.7.1', 'No.');
        if (address === 'fault@x.example') await fault();
      },
      recipient: fault,
    },
  });
  const client = await connect();
  await client.hello();
  expect(await client.command('MAIL FROM:<refused@x.example>')).toBe('550 5.7.1 No.');
  expect(logged).toEqual([]);
  expect(await client.command('MAIL FROM:<fault@x.example>')).toBe(FAULT);
  expect(await client.command('MAIL FROM:<>')).toStartWith('250 ');
  expect(await client.command('RCPT TO:<a@x.example>')).toBe(FAULT);
  const fields = {
    level: 'error',
    event: 'smtp_command_failed',
    error: { message: 'the cause' },
    hint: 'The client was told to try again. This is a bug in Postrider: report it with this log line.',
  };
  expect(logged).toMatchObject([fields, fields]);
});

test('handlers get addresses and the declared size, and what data returns is the text of the 250', async () => {
  const said: unknown[] = [];
  const { connect } = await open({
    does: {
      mail: async (address, _session, bytes) => void said.push([address, bytes]),
      recipient: async (address) => void said.push(address),
      data: async (stream) => {
        let text = '';
        for await (const chunk of stream) text += String(chunk);
        said.push(text);
        return '2.6.0 taken';
      },
    },
  });
  const client = await connect();
  await client.hello();
  await client.command('MAIL FROM:<a@x.example>');
  await client.command('RSET');
  await client.command('MAIL FROM:<b@x.example> BODY=8BITMIME');
  await client.command('RSET');
  await client.command('MAIL FROM:<c@x.example> SIZE=1000');
  expect(await client.command('RCPT TO:<d@x.example>')).toStartWith('250 2.1.5');
  expect(await client.command('RCPT TO:<e@x.example>')).toStartWith('250 2.1.5');
  expect(await client.command('RCPT TO:<f@x.example>')).toStartWith('452 4.5.3');
  await client.command('DATA');
  expect(await client.command('..x\r\n.')).toBe('250 2.6.0 taken');
  expect(said).toEqual([
    ['a@x.example', 0],
    ['b@x.example', 0],
    ['c@x.example', 1_000],
    'd@x.example',
    'e@x.example',
    '.x\r\n',
  ]);
});

test('on loopback without TLS nobody has to log in, and who wants to may', async () => {
  const { connect } = await open({
    isPlain: true,
    does: { login: async ({ username, password }) => ({ username, password }) },
  });
  const client = await connect();
  const announced = await client.hello();
  expect(announced).toContain('AUTH PLAIN LOGIN');
  expect(announced).not.toContain('STARTTLS');
  expect(await client.command('STARTTLS')).toStartWith('500 5.5.2');
  expect(await client.command('MAIL FROM:<a@x.example>')).toStartWith('250');
  await client.command('RSET');
  expect(await client.login('any')).toStartWith('235 2.7.0');
  expect(await client.command('MAIL FROM:<a@x.example>')).toStartWith('250');
});

test('a change says whether the certificate is another, and its recipients count at once', async () => {
  const { listener, connect } = await open();
  const client = await connect();
  await client.hello();
  expect(listener.change({ ...tls }, { recipients: 1 })).toBe(false);
  await client.command('MAIL FROM:<>');
  expect(await client.command('RCPT TO:<a@x.example>')).toStartWith('250');
  expect(await client.command('RCPT TO:<b@x.example>')).toStartWith('452');
  const next = testAuthority().issue(['mail.appliance.example']);
  expect(listener.change(next, { recipients: 1 })).toBe(true);
  expect(listener.change(next, { recipients: 1 })).toBe(false);
  // Both halves count: the same key may have a new certificate.
  const renewed = { cert: `${next.cert}\n`, key: next.key };
  expect(listener.change(renewed, { recipients: 1 })).toBe(true);
});

test('while it rests sessions go on and nobody gets in; afterwards it is at the same port', async () => {
  const { listener, at, connect } = await open();
  const client = await connect();
  await client.reply();
  listener.rest();
  expect(listensAt(at.port)).toBe(false);
  expect(await client.command('NOOP')).toStartWith('250');
  await listener.listenAgain();
  expect(await (await connect()).reply()).toBe('220 mail.appliance.example ESMTP');
});

test('an address in use is named with its key', async () => {
  const { at } = await open();
  const { listener: second, clock } = await open();
  await second.stop();
  expect(await second.start(at, 'smtp.submission').catch(String)).toBe(
    `OperatorError: smtp.submission: 127.0.0.1 port ${at.port} is in use by another program`,
  );
  // One that could not begin leaves nothing to be done later.
  expect(clock.pending()).toEqual([]);
});

test('when it stops, idle sessions end at once and one within a message may finish', async () => {
  const { listener, connect } = await open();
  const [idle, busy] = [await connect(), await connect()];
  await Promise.all([idle.hello(), busy.hello()]);
  await busy.command('MAIL FROM:<a@x.example>');
  await busy.command('RCPT TO:<b@x.example>');
  await busy.command('DATA');
  const stopped = listener.stop();
  expect(await idle.reply()).toBe('421 4.3.2 The service is shutting down. Try again soon.');
  expect(await busy.command('x\r\n.')).toBe('250 2.0.0 OK');
  busy.close();
  await stopped;
});

test('a client that leaves in the middle of its message is no fault, and its session is free for another one', async () => {
  const { promise: left, resolve: leave } = Promise.withResolvers<unknown>();
  const { logged, connect } = await open({
    limits: { ...LIMITS, connectionsPerAddress: 1 },
    does: {
      data: async (stream) => {
        try {
          for await (const _ of stream);
        } catch (error) {
          leave(error);
          throw error;
        }
        return '2.0.0 OK';
      },
    },
  });
  const client = await connect();
  await client.hello();
  await client.command('MAIL FROM:<>');
  await client.command('RCPT TO:<a@x.example>');
  await client.command('DATA');
  client.write('half of ');
  client.close();
  expect(await left).toMatchObject({ code: 'ECONNECTION' });
  await client.closed;
  const next = async (): Promise<string> => (await connect()).reply();
  while ((await next()) !== '220 mail.appliance.example ESMTP');
  expect(logged).toEqual([]);
});

test('a client that leaves in its TLS handshake is counted no more', async () => {
  const { at, connect } = await open({
    isImplicitTls: true,
    limits: { ...LIMITS, connectionsPerAddress: 1 },
  });
  const silent = await RawClient.open(at);
  silent.close();
  await silent.closed;
  const entered = (): Promise<RawClient | null> => connect(true).catch(() => null);
  let client = await entered();
  while (client === null) client = await entered();
  expect(await client.reply()).toBe('220 mail.appliance.example ESMTP');
  expect(await entered()).toBeNull();
});

test('sessions beyond the limit are told so, and a handshake that began counts as one', async () => {
  const limits = { ...LIMITS, connections: 2, connectionsPerAddress: 100 };
  const plain = await open({ limits });
  for (let n = 0; n < 2; n += 1) expect(await (await plain.connect()).reply()).toStartWith('220 ');
  expect(await (await plain.connect()).reply()).toBe(
    '421 mail.appliance.example Too many connected clients, try again in a moment',
  );
  const { at } = await open({ isImplicitTls: true, limits });
  const silent: RawClient[] = [];
  for (let n = 0; n < 3; n += 1) silent.push(await RawClient.open(at));
  // Before the handshake there are no words for it.
  const ends = silent.map((client, n) => client.closed.then(() => n));
  expect(await Promise.race(ends)).toBe(2);
  for (const client of silent) client.close();
});

test('when it stops, a report without a sender may finish too, and who has given a message up has nothing to finish', async () => {
  const { listener, connect } = await open();
  const [report, idle] = [await connect(), await connect()];
  for (const client of [report, idle]) {
    await client.hello();
    await client.command('MAIL FROM:<>');
    await client.command('RCPT TO:<a@x.example>');
  }
  await idle.command('RSET');
  await report.command('DATA');
  const stopped = listener.stop();
  expect(await idle.reply()).toBe('421 4.3.2 The service is shutting down. Try again soon.');
  expect(await report.command('x\r\n.')).toBe('250 2.0.0 OK');
  report.close();
  await stopped;
});
