/** What the capture receiver forgets, by number and by bytes, over messages that a real client sends. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Capture } from '../../../src/flow/upkeep/capture.ts';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { TestClock } from '../../rig/clock.ts';

const MIB = 1024 * 1024;

let capture: Capture;
let port: number;
beforeEach(async () => {
  capture = new Capture(new TestClock());
  ({ port } = await capture.start());
});
afterEach(() => capture.stop());

/** Sends a message of about so many bytes; returns what became of it. */
async function send(bytes: number): Promise<string> {
  const opened = await openSession({
    address: '127.0.0.1',
    port,
    localAddress: null,
    heloName: 'mail.rig.test',
    serverName: 'capture.localhost',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  });
  if (opened.kind === 'failed') throw new Error(opened.cause ?? 'not connected');
  const line = `${'x'.repeat(998)}\r\n`;
  const text = `From: a@sender.example\r\nSubject: x\r\n\r\n${line.repeat(Math.ceil(bytes / 1_000))}`;
  const { kind } = await opened.session.send({
    from: 'a@sender.example',
    to: 'b@example.com',
    message: new OutgoingMessage(Buffer.from(text), null),
    needsSmtpUtf8: false,
    dsn: false,
  });
  await opened.session.quit();
  return kind;
}

const numbers = () => capture.captured().map((one) => one.number);

test('64 MiB are kept: the oldest go first, and what was removed by hand counts no more', async () => {
  for (let n = 0; n < 3; n += 1) expect(await send(20 * MIB)).toBe('accepted');
  expect(numbers()).toEqual([3, 2, 1]);
  await send(20 * MIB);
  expect(numbers()).toEqual([4, 3, 2]);
  expect([capture.remove(3), capture.remove(3), capture.remove(99)]).toEqual([true, false, false]);
  await send(20 * MIB);
  expect(numbers()).toEqual([5, 4, 2]);
  expect([capture.clear(), numbers()]).toEqual([3, []]);
  for (let n = 0; n < 3; n += 1) await send(20 * MIB);
  expect(numbers()).toEqual([8, 7, 6]);
}, 120_000);

test('a message of more than 40 MiB is refused and not kept', async () => {
  expect(await send(41 * MIB)).toBe('refused');
  expect(numbers()).toEqual([]);
}, 120_000);
