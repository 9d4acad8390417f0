/** Slow, silent, malformed and very many clients cost bounded time and memory, and honest clients still get through. */
import { afterEach, expect, test } from 'bun:test';
import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import { ByteBudget } from '../../src/flow/byte-budget.ts';
import { AddressCounts, FailedLogins } from '../../src/smtp/limits.ts';
import { draft } from '../flow/fixture.ts';
import { bestOf, tookMs } from '../rig/best-of.ts';
import { TestClock } from '../rig/clock.ts';
import { listensAt, sockets } from '../rig/descriptors.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture | null = null;
const clients: RawClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture?.close();
  fixture = null;
});

async function open(to: { host: string; port: number }, from?: string): Promise<RawClient> {
  const client = await RawClient.open(to, from);
  clients.push(client);
  return client;
}

test('500 slow clients beside an honest one: it is served, they are timed out, nothing is left', async () => {
  fixture = await openSmtpFixture();
  const before = sockets().length;
  const slow: RawClient[] = [];
  // Ten addresses of fifty clients each, stalled in five different states.
  for (let n = 0; n < 500; n += 1)
    slow.push(await open(fixture.submission, `127.0.1.${1 + (n % 10)}`));
  await Promise.all(slow.map((client) => client.reply()));
  await Promise.all(
    slow.map(async (client, n) => {
      if (n % 5 === 0) return;
      await client.command('EHLO slow.example');
      if (n % 5 === 1) client.write('M');
      if (n % 5 === 2) await client.command('NOOP');
      if (n % 5 === 3) await client.command('STARTTLS');
      if (n % 5 === 4) client.write('STARTTLS\r\n\x16\x03\x01');
    }),
  );
  const { submission, token } = fixture;
  const serve = async (): Promise<void> => {
    const honest = await open(submission);
    await honest.hello(true);
    expect(await honest.login(token)).toStartWith('235');
    await honest.command('MAIL FROM:<a@x.example>');
    await honest.command('RCPT TO:<ann@receiver.example>');
    await honest.command('DATA');
    honest.write('From: hello@acme.example\r\n\r\nx');
    expect(await honest.command('\r\n.')).toStartWith('250');
  };
  // The greeting alone waits 0.1 s for early talkers; a stalled server would take the test's whole time.
  expect(await bestOf(2_999, () => tookMs(serve))).toBeLessThan(3_000);
  // One byte now and then re-arms an idle timer, but not this one.
  await fixture.clock.advance(14 * 60_000);
  for (const client of slow.slice(0, 100)) client.write('x');
  await fixture.clock.advance(60_000 + 2_000);
  await Promise.all(slow.map((client) => client.closed));
  await Promise.all(clients.map((client) => client.closed));
  // The library keeps a half-closed socket five seconds at most; ours is closed, so it goes at once.
  // Seven seconds of this process, in steps: a machine that stands still only adds to them.
  for (let step = 0; step < 140 && sockets().length > before; step += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sockets().length).toBeLessThanOrEqual(before);
}, 30_000);

test('one address cannot take every session, with and without TLS', async () => {
  fixture = await openSmtpFixture({ submission: { connectionsPerAddress: 3 } });
  for (let n = 0; n < 3; n += 1) await (await open(fixture.submission, '127.0.2.1')).reply();
  const fourth = await open(fixture.submission, '127.0.2.1');
  expect(await fourth.reply()).toStartWith('421 4.7.0');
  await fourth.closed;
  expect(await (await open(fixture.submission, '127.0.2.2')).reply()).toStartWith('220');
  clients[0]?.close();
  await clients[0]?.closed;
  const again = async (): Promise<string> => {
    const client = await open(fixture?.submission ?? { host: '', port: 0 }, '127.0.2.1');
    const reply = await client.reply();
    client.close();
    return reply;
  };
  let reply = await again();
  // The server learns a moment later that the first has left.
  while (!reply.startsWith('220')) reply = await again();
  for (let n = 0; n < 3; n += 1) clients.push(await RawClient.openTls(fixture.submissions));
  const refused = await RawClient.openTls(fixture.submissions).then(
    () => null,
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(Error);
});

test('a client that never finishes its TLS handshake is closed when its session would be', async () => {
  fixture = await openSmtpFixture({ submission: { connectionsPerAddress: 2 } });
  const [silent, begun] = [await open(fixture.submissions), await open(fixture.submissions)];
  // The first bytes of a ClientHello, and never the rest.
  begun.write(Uint8Array.of(0x16, 0x03, 0x01));
  await fixture.clock.advance(14 * 60_000);
  const third = await RawClient.openTls(fixture.submissions).then(
    () => null,
    (error: unknown) => error,
  );
  // Both are still there, and count.
  expect(third).toBeInstanceOf(Error);
  await fixture.clock.advance(60_000 + 2_000);
  await Promise.all([silent.closed, begun.closed]);
  clients.push(await RawClient.openTls(fixture.submissions));
});

test('after the stop nobody gets in, at any of the listeners', async () => {
  fixture = await openSmtpFixture();
  const { server, inboundServer, inbound, submission, submissions } = fixture;
  const listening = (): boolean[] =>
    [inbound, submission, submissions].map(({ port }) => listensAt(port));
  expect(listening()).toEqual([true, true, true]);
  expect([server.listeners.length, inboundServer.listeners.length]).toEqual([2, 1]);
  await Promise.all([server.stop(), inboundServer.stop()]);
  expect([server.listeners.length, inboundServer.listeners.length]).toEqual([0, 0]);
  expect(listening()).toEqual([false, false, false]);
});

test('a client that never logs in gets twenty commands, those of the greeting included', async () => {
  fixture = await openSmtpFixture();
  const client = await open(fixture.submission);
  await client.hello(true);
  let count = 0;
  let reply = '250';
  while (reply.startsWith('250') && count < 100) {
    reply = await client.command('NOOP');
    count += 1;
  }
  // EHLO, STARTTLS and EHLO again were the first three.
  expect([reply.slice(0, 3), count]).toEqual(['421', 17]);
  await client.closed;
});

test('a command line may have 4,096 characters', async () => {
  fixture = await openSmtpFixture();
  const say = async (length: number): Promise<string> => {
    const client = await open(fixture?.submission ?? { host: '', port: 0 });
    await client.hello();
    return (await client.command('NOOP '.padEnd(length, 'x'))).slice(0, 3);
  };
  expect([await say(4_000), await say(4_200)]).toEqual(['250', '421']);
});

test('sessions beyond the total limit are told so', async () => {
  fixture = await openSmtpFixture({ submission: { connections: 5 } });
  for (let n = 0; n < 5; n += 1) await (await open(fixture.submission)).reply();
  expect(await (await open(fixture.submission)).reply()).toStartWith('421');
});

test('messages in progress share one budget, and clients beyond it are told to try later', async () => {
  fixture = await openSmtpFixture({ budget: new ByteBudget({ large: 0, small: 50_000 }) });
  const begin = async (): Promise<RawClient> => {
    const client = await open(fixture?.submission ?? { host: '', port: 0 });
    await client.hello(true);
    await client.login(fixture?.token ?? '');
    await client.command('MAIL FROM:<a@x.example>');
    await client.command('RCPT TO:<ann@receiver.example>');
    await client.command('DATA');
    client.write('From: hello@acme.example\r\n\r\n');
    return client;
  };
  const lines = `${'x'.repeat(70)}\r\n`.repeat(500);
  const first = await begin();
  first.write(lines);
  const second = await begin();
  second.write(lines);
  // The second one found the memory used up.
  const replies = [await second.command('.'), await first.command('.')].sort();
  expect(replies[0]).toStartWith('250 2.0.0');
  expect(replies[1]).toStartWith('452 4.3.1');
  // What is declared too large for now is refused before it is sent.
  const taken = fixture.ctx.budget.open('');
  expect(taken.grow(45_000)).toBe(true);
  const declared = await open(fixture.submission);
  await declared.hello(true);
  await declared.login(fixture.token);
  expect(await declared.command('MAIL FROM:<a@x.example> SIZE=36000')).toStartWith('452 4.3.1');
  const report = await open(fixture.inbound);
  await report.hello();
  expect(await report.command('MAIL FROM:<> SIZE=36000')).toStartWith('452 4.3.1');
  taken.release();
  const third = await begin();
  third.write(lines);
  expect(await third.command('.')).toStartWith('250');
});

test('200 malformed messages: each gets a reply, none stops the listener, memory stays constant', async () => {
  fixture = await openSmtpFixture();
  const seed = Date.now() % 1_000_000;
  let state = seed + 1;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const { recipients } = await fixture.stored(await fixture.accept(fixture.by, draft()));
  const mac = (text: string): Buffer =>
    Buffer.from(fixture?.ctx.secrets.mac('return-path', text) ?? []);
  const path = `${encodeReturnPath(recipients[0]?.id ?? '', mac)}@send.acme.example`;
  const pieces = [
    'Content-Type: multipart/mixed; boundary="b"\r\n',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n',
    'Content-Type: message/delivery-status\r\n',
    'Content-Transfer-Encoding: base64\r\n',
    'Content-Transfer-Encoding: quoted-printable\r\n',
    '\r\n',
    '--b\r\n',
    '--b--\r\n',
    '=?UTF-8?Q?=FF=FE?=\r\n',
    'Final-Recipient: rfc822;\r\nAction: failed\r\nStatus: 9.9.9\r\n',
    `X: ${'y'.repeat(900)}\r\n`,
    ' folded\r\n',
    '\0\x01\x7f\xff\r\n',
    'no colon here\r\n',
    '=\r\n==\r\n=G\r\n',
    '!!!!\r\n',
  ];
  const inbound = await open(fixture.inbound);
  await inbound.hello();
  const outbound = await open(fixture.submission);
  await outbound.hello(true);
  await outbound.login(fixture.token);
  Bun.gc(true);
  const rss = process.memoryUsage.rss();
  for (let n = 0; n < 200; n += 1) {
    const nested = n % 20 === 0;
    const size = nested ? 3_000 : 1 + random(60);
    let message = n % 2 === 0 ? 'From: hello@acme.example\r\n' : '';
    for (let piece = 0; piece < size; piece += 1)
      message += pieces[random(nested ? 8 : pieces.length)];
    // A line of one dot would end the message early.
    for (const [client, to] of [
      [inbound, path],
      [outbound, 'ann@receiver.example'],
    ] as const) {
      await client.command('MAIL FROM:<>');
      await client.command(`RCPT TO:<${to}>`);
      await client.command('DATA');
      client.write(Buffer.from(message, 'latin1'));
      const reply = await client.command('\r\n.');
      expect({ seed, n, reply }).toMatchObject({ reply: expect.stringMatching(/^(250|5\d\d) /) });
    }
  }
  Bun.gc(true);
  expect(process.memoryUsage.rss() - rss).toBeLessThan(200 * 1024 * 1024);
  expect(fixture.logged.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);

test('counts and failed logins work as documented', () => {
  const counts = new AddressCounts();
  expect([counts.add('a'), counts.add('a'), counts.add('b')]).toEqual([1, 2, 1]);
  counts.remove('a');
  counts.remove('a');
  expect(counts.add('a')).toBe(1);

  const failures = new FailedLogins(new TestClock());
  for (let n = 0; n < 10; n += 1) failures.note('2001:db8::1');
  expect(failures.isBlocked('2001:db8::ffff')).toBe(true);
  expect(failures.isBlocked('2001:db8:1::1')).toBe(false);
  // A flood of addresses costs bounded memory, and drops the oldest entries.
  for (let n = 0; n < 20_000; n += 1) failures.note(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  expect(failures.isBlocked('2001:db8::1')).toBe(false);
});
