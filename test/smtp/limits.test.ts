/** What slow, many, silent and malformed clients cost: a bounded time and a bounded place, and no honest client its mail. */
import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readlinkSync } from 'node:fs';
import { encodeReturnPath } from '../../src/mail/return-path.ts';
import { AddressCounts, ByteBudget, FailedLogins } from '../../src/smtp/limits.ts';
import { draft } from '../flow/house.ts';
import { TestClock } from '../rig/clock.ts';
import { openSmtpHouse, type SmtpHouse } from './house.ts';
import { RawClient } from './raw-client.ts';

let house: SmtpHouse | null = null;
const clients: RawClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await house?.close();
  house = null;
});

async function open(to: { host: string; port: number }, from?: string): Promise<RawClient> {
  const client = await RawClient.open(to, from);
  clients.push(client);
  return client;
}

/** Sockets of this process, each once: the runtime copies the descriptors of standard output when it pleases. */
function sockets(): number {
  const kinds = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return 'closed meanwhile';
    }
  });
  return new Set(kinds.filter((kind) => kind.startsWith('socket:'))).size;
}

test('500 slow clients beside an honest one: it is served, they end by the clock, nothing is left', async () => {
  house = await openSmtpHouse();
  const before = sockets();
  const slow: RawClient[] = [];
  // Ten addresses of fifty clients each, in five states of not getting on.
  for (let n = 0; n < 500; n += 1)
    slow.push(await open(house.submission, `127.0.1.${1 + (n % 10)}`));
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
  const honest = await open(house.submission);
  const began = Date.now();
  await honest.hello(true);
  expect(await honest.login(house.token)).toStartWith('235');
  await honest.command('MAIL FROM:<a@x.example>');
  await honest.command('RCPT TO:<ann@receiver.example>');
  await honest.command('DATA');
  honest.write('From: hello@acme.example\r\n\r\nx');
  expect(await honest.command('\r\n.')).toStartWith('250');
  // The greeting alone waits 0.1 s for early talkers; a stalled server would take the test's whole time.
  expect(Date.now() - began).toBeLessThan(3_000);
  // One byte now and then re-arms an idle timer, but not this one.
  await house.clock.advance(14 * 60_000);
  for (const client of slow.slice(0, 100)) client.write('x');
  await house.clock.advance(60_000 + 2_000);
  await Promise.all(slow.map((client) => client.closed));
  await honest.closed;
  // The library keeps a half-closed socket five seconds at most; ours is closed, so it goes at once.
  for (const until = Date.now() + 7_000; sockets() > before && Date.now() < until;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sockets()).toBeLessThanOrEqual(before);
}, 30_000);

test('one address may not take every place, with and without TLS', async () => {
  house = await openSmtpHouse({ submission: { connectionsPerAddress: 3 } });
  for (let n = 0; n < 3; n += 1) await (await open(house.submission, '127.0.2.1')).reply();
  const fourth = await open(house.submission, '127.0.2.1');
  expect(await fourth.reply()).toStartWith('421 4.7.0');
  await fourth.closed;
  expect(await (await open(house.submission, '127.0.2.2')).reply()).toStartWith('220');
  clients[0]?.close();
  await clients[0]?.closed;
  const again = async (): Promise<string> => {
    const client = await open(house?.submission ?? { host: '', port: 0 }, '127.0.2.1');
    const reply = await client.reply();
    client.close();
    return reply;
  };
  let reply = await again();
  for (const until = Date.now() + 3_000; !reply.startsWith('220') && Date.now() < until;)
    reply = await again();
  expect(reply).toStartWith('220');
  for (let n = 0; n < 3; n += 1) clients.push(await RawClient.openTls(house.submissions));
  const refused = await RawClient.openTls(house.submissions).then(
    () => null,
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(Error);
});

test('more sessions than there may be in all are told so', async () => {
  house = await openSmtpHouse({ submission: { connections: 5 } });
  for (let n = 0; n < 5; n += 1) await (await open(house.submission)).reply();
  expect(await (await open(house.submission)).reply()).toStartWith('421');
});

test('messages under way share one budget, and who finds none is asked to come later', async () => {
  house = await openSmtpHouse({ submission: { bufferedBytes: 50_000 } });
  const begin = async (): Promise<RawClient> => {
    const client = await open(house?.submission ?? { host: '', port: 0 });
    await client.hello(true);
    await client.login(house?.token ?? '');
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
  // Whichever came second found the room taken.
  const replies = [await second.command('.'), await first.command('.')].sort();
  expect(replies[0]).toStartWith('250 2.0.0');
  expect(replies[1]).toStartWith('452 4.3.1');
  const third = await begin();
  third.write(lines);
  expect(await third.command('.')).toStartWith('250');
});

test('200 malformed messages: each is answered, none stops the door, memory stays', async () => {
  house = await openSmtpHouse();
  const seed = Date.now() % 1_000_000;
  let state = seed + 1;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const { recipients } = await house.stored(await house.accept(house.by, draft()));
  const mac = (text: string): Buffer =>
    Buffer.from(house?.ctx.secrets.mac('return-path', text) ?? []);
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
  const inbound = await open(house.inbound);
  await inbound.hello();
  const outbound = await open(house.submission);
  await outbound.hello(true);
  await outbound.login(house.token);
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
  expect(process.memoryUsage.rss() - rss).toBeLessThan(200 * 1024 * 1024);
  expect(house.logged.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);

test('counts, budgets and failures do what they say', () => {
  const counts = new AddressCounts();
  expect([counts.add('a'), counts.add('a'), counts.add('b')]).toEqual([1, 2, 1]);
  counts.remove('a');
  counts.remove('a');
  expect(counts.add('a')).toBe(1);

  const budget = new ByteBudget(10);
  expect([budget.take(6), budget.take(5), budget.take(4), budget.take(1)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  budget.giveBack(6);
  expect(budget.take(6)).toBe(true);

  const failures = new FailedLogins(new TestClock());
  for (let n = 0; n < 10; n += 1) failures.note('2001:db8::1');
  expect(failures.isBlocked('2001:db8::ffff')).toBe(true);
  expect(failures.isBlocked('2001:db8:1::1')).toBe(false);
  // A flood of addresses costs a bounded place, and pushes out the oldest.
  for (let n = 0; n < 20_000; n += 1) failures.note(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  expect(failures.isBlocked('2001:db8::1')).toBe(false);
});
