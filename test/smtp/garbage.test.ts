/**
 * Every SMTP listener against bytes that are no SMTP, by a printed seed: each session ends, none is left, and an honest
 * client is served afterwards. Lines without end are refused, and replies to a client that does not read them do not
 * grow without limit.
 */
import { afterEach, expect, test } from 'bun:test';
import { connect } from 'node:net';

import type { Listen } from '../../src/base/config.ts';
import { seeded, type Random } from '../mail/random.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const SESSIONS = 150;
const AT_ONCE = 25;
const MIB = 1024 * 1024;

let fixture: SmtpFixture | null = null;
afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

const WORDS = [
  'EHLO x',
  'HELO',
  'STARTTLS',
  'AUTH PLAIN AGEAYg==',
  'AUTH LOGIN',
  'MAIL FROM:<a@b.example>',
  'MAIL FROM:<>',
  'RCPT TO:<bounces@mail.appliance.example>',
  'DATA',
  'BDAT 10 LAST',
  'RSET',
  'NOOP',
  'VRFY x',
  'HELP',
  '.',
  'XCLIENT ADDR=127.0.0.1',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2',
  'GET / HTTP/1.1',
];

/** Bytes at random, or commands in any order, some of them corrupted, with any line ends. */
function garbage(random: Random): Buffer {
  const below = (limit: number): number => random.int(limit);
  const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));
  if (below(4) === 0) return noise(1 + below(5_000));
  const ends = ['\r\n', '\n', '\r', '\0\r\n', ''];
  const lines = Array.from({ length: 1 + below(12) }, () => {
    const line = Buffer.from(WORDS[below(WORDS.length)] ?? '');
    if (below(3) === 0) line[below(line.length)] = below(256);
    const tail = below(6) === 0 ? noise(below(6_000)) : Buffer.alloc(0);
    return Buffer.concat([line, tail, Buffer.from(ends[below(ends.length + 3)] ?? '\r\n')]);
  });
  return Buffer.concat(lines);
}

/** Sends `bytes`, half of the time before the greeting, and waits for the end. */
function meet(to: Listen, bytes: Buffer, isEager: boolean): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port: to.port, host: to.host });
    const send = (): void => void socket.end(bytes);
    if (isEager) socket.once('connect', send);
    else socket.once('data', send);
    socket.resume();
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

async function isHonestServed({ inbound, submission }: SmtpFixture): Promise<void> {
  for (const to of [inbound, submission]) {
    const client = await RawClient.open(to);
    expect(await client.reply()).toStartWith('220 ');
    client.write('EHLO honest.example\r\n');
    expect(await client.reply()).toContain('STARTTLS');
    client.close();
  }
}

test(`${SESSIONS} sessions of garbage at each listener (POSTRIDER_SEED=${SEED})`, async () => {
  const open = await openSmtpFixture();
  fixture = open;
  const random = seeded(SEED);
  for (const to of [open.inbound, open.submission, open.submissions]) {
    for (let done = 0; done < SESSIONS; done += AT_ONCE) {
      // Before TLS the server sends nothing: waiting for it would be a deadlock.
      const sessions = Array.from({ length: AT_ONCE }, () =>
        meet(to, garbage(random), to === open.submissions || random.chance(0.5)),
      );
      await Promise.all(sessions);
    }
  }
  await isHonestServed(open);
  expect(open.logged.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);

test('a command line without end is refused', async () => {
  const open = await openSmtpFixture();
  fixture = open;
  for (const to of [open.inbound, open.submission]) {
    const socket = connect({ port: to.port, host: to.host });
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await new Promise((resolve) => socket.once('data', resolve));
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    const piece = Buffer.alloc(65_536, 'x');
    const more = (): void => {
      while (!socket.destroyed && socket.bytesWritten < 100 * MIB && socket.write(piece));
    };
    socket.on('drain', more);
    more();
    await closed;
    expect(said).toMatch(/^(421|500)/);
  }
  await isHonestServed(open);
}, 30_000);

test('replies that the client does not read do not grow without limit', async () => {
  const open = await openSmtpFixture();
  fixture = open;
  const socket = connect({ port: open.inbound.port, host: open.inbound.host });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  const lines = Buffer.from('EHLO x\r\n'.repeat(8_192));
  const more = (): void => {
    while (!socket.destroyed && socket.bytesWritten < 100 * MIB && socket.write(lines));
  };
  socket.on('drain', more);
  more();
  for (let round = 0; round < 5; round += 1) await isHonestServed(open);
  // What the kernel buffers for both sides, not what the client tries to send.
  expect(socket.bytesWritten).toBeLessThan(32 * MIB);
  socket.destroy();
}, 30_000);
