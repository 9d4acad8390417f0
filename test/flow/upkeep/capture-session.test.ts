/** What the capture receiver says, line by line, and what it keeps of what it was told. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { Capture } from '../../../src/flow/upkeep/capture.ts';
import { TestClock } from '../../rig/clock.ts';

let clock: TestClock;
let capture: Capture;
let port: number;
beforeEach(async () => {
  clock = new TestClock();
  capture = new Capture(clock);
  const at = await capture.start();
  expect(at.host).toBe('127.0.0.1');
  ({ port } = at);
});
afterEach(() => capture.stop());

/** Says each of these and returns the reply to each, the greeting first. Ends without QUIT unless it is said. */
async function session(...said: string[]): Promise<string[]> {
  const socket = createConnection(port, '127.0.0.1');
  const replies: string[] = [];
  let unread = '';
  let heard = (): void => undefined;
  socket.on('data', (bytes: Buffer) => {
    unread += bytes.toString();
    heard();
  });
  const reply = async (): Promise<void> => {
    while (!/^\d{3} .*\r\n$/m.test(unread)) await new Promise<void>((resolve) => (heard = resolve));
    replies.push(unread.trimEnd().replaceAll('\r\n', ' | '));
    unread = '';
  };
  await reply();
  for (const line of said) {
    socket.write(`${line}\r\n`);
    await reply();
  }
  socket.destroy();
  return replies;
}

test('a message for two, from nobody', async () => {
  clock.pass(5_000);
  clock.jump(3_600_000);
  const text =
    'From: =?UTF-8?Q?J=C3=B6rg?= <j@a.example>\r\nSubject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHi';
  expect(
    await session(
      'EHLO mail.rig.test',
      'AUTH PLAIN AGEAYg==',
      'STARTTLS',
      'MAIL FROM:<>',
      'RCPT TO:<ann@anywhere.example>',
      'RCPT TO:<Bob@elsewhere.example>',
      'DATA',
      `${text}\r\n.`,
      'QUIT',
    ),
  ).toEqual([
    '220 capture.localhost ESMTP capture',
    '250-capture.localhost Nice to meet you, [127.0.0.1] | 250-PIPELINING | 250-8BITMIME | 250-SMTPUTF8 | 250 SIZE 41943040',
    '500 Error: command not recognized',
    '500 Error: command not recognized',
    '250 Accepted',
    '250 Accepted',
    '250 Accepted',
    '354 End data with <CR><LF>.<CR><LF>',
    '250 captured as 2',
    '221 Bye',
  ]);
  const kept = {
    receivedAt: clock.now(),
    returnPath: '',
    subject: 'Grüße',
    from: 'Jörg <j@a.example>',
    raw: Buffer.from(`${text}\r\n`),
  };
  expect(capture.captured()).toEqual([
    { ...kept, number: 2, recipient: 'Bob@elsewhere.example' },
    { ...kept, number: 1, recipient: 'ann@anywhere.example' },
  ]);
});

test('what is cut off in DATA is not kept, and the next one is the first', async () => {
  const begin = ['EHLO x.test', 'MAIL FROM:<a@sender.example>', 'RCPT TO:<b@x.example>', 'DATA'];
  await session(...begin);
  expect((await session(...begin, 'Hi\r\n.')).at(-1)).toBe('250 captured as 1');
  expect(capture.captured().map(({ number, returnPath }) => [number, returnPath])).toEqual([
    [1, 'a@sender.example'],
  ]);
});

test('two hundred are kept, one more drops the oldest, and numbers go on after all were forgotten', async () => {
  const send = async (count: number): Promise<void> => {
    const to = Array.from({ length: count }, (_, n) => `RCPT TO:<r${n}@x.example>`);
    await session('EHLO x.test', 'MAIL FROM:<a@x.example>', ...to, 'DATA', 'Hi\r\n.', 'QUIT');
  };
  const numbers = (): number[] => capture.captured().map(({ number }) => number);
  await send(200);
  expect([numbers().length, numbers().at(-1)]).toEqual([200, 1]);
  await send(1);
  expect([numbers().length, numbers()[0], numbers().at(-1)]).toEqual([200, 201, 2]);
  expect([capture.remove(2), capture.remove(2), capture.remove(1), numbers().length]).toEqual([
    true,
    false,
    false,
    199,
  ]);
  expect([capture.clear(), capture.clear(), capture.remove(201), numbers()]).toEqual([
    199,
    0,
    false,
    [],
  ]);
  const one = ['EHLO x.test', 'MAIL FROM:<a@x.example>', 'RCPT TO:<b@x.example>'];
  expect((await session(...one, 'DATA', 'Hi\r\n.')).at(-1)).toBe('250 captured as 202');
  expect(numbers()).toEqual([202]);
});

test('64 MiB are kept, counted for each recipient, and one line more drops the oldest', async () => {
  const send = async (count: number, text: string): Promise<void> => {
    const to = Array.from({ length: count }, (_, n) => `RCPT TO:<r${n}@x.example>`);
    await session('EHLO x.test', 'MAIL FROM:<a@x.example>', ...to, 'DATA', `${text}.`);
  };
  const kept = (): unknown[] => capture.captured().map(({ number, raw }) => [number, raw.length]);
  // What was forgotten takes no space.
  await send(1, 'x\r\n');
  capture.clear();
  const MIB = 1_024 * 1_024;
  await send(32, `${'x'.repeat(1_022)}\r\n`.repeat(2 * 1_024));
  const all = Array.from({ length: 32 }, (_, n) => [33 - n, 2 * MIB]);
  expect(kept()).toEqual(all);
  await send(1, 'x\r\n');
  expect(kept()).toEqual([[34, 3], ...all.slice(0, -1)]);
});

test('a message that turns out to be longer than 40 MiB is refused for good, and is not kept', async () => {
  const KIB = `${'x'.repeat(1_022)}\r\n`;
  const begin = ['EHLO x.test', 'MAIL FROM:<a@x.example>', 'RCPT TO:<b@x.example>', 'DATA'];
  const said = await session(...begin, `${KIB.repeat(40 * 1_024)}x\r\n.`);
  expect([said.at(-1), capture.captured()]).toEqual(['552 Message too large', []]);
});
