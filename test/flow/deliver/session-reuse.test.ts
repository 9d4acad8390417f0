/** How long a session is kept, how much it carries, and which addresses are not dialled for a while. */
import { afterEach, expect, test } from 'bun:test';

import { dialOf } from '../../../src/flow/deliver/host-address.ts';
import type { Dial } from '../../../src/flow/deliver/host-address.ts';
import { Sessions } from '../../../src/flow/deliver/session-pool.ts';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { TestClock } from '../../rig/clock.ts';
import { startReceiver } from '../../rig/receiver.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

function dialFor(address: string, port: number): Dial {
  return dialOf({
    address,
    port,
    localAddress: null,
    heloName: 'mail.rig.test',
    serverName: 'mx.rig.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  });
}

async function start() {
  const receiver = await startReceiver({ certificate: null });
  undo.push(() => receiver.stop());
  const clock = new TestClock();
  const sessions = new Sessions(clock);
  undo.push(() => sessions.stop());
  const dial = dialFor('127.0.0.1', receiver.port);
  const use = async (messagesMax: number): Promise<boolean> => {
    const acquired = await sessions.acquire(dial);
    if (acquired.kind === 'failed') throw new Error(acquired.cause ?? 'failed');
    const result = await acquired.session.send({
      from: 'a@sender.example',
      to: 'b@example.com',
      message: new OutgoingMessage(Buffer.from('Subject: x\r\n\r\nx\r\n'), null),
      needsSmtpUtf8: false,
      dsn: false,
    });
    expect(result.kind).toBe('accepted');
    sessions.release(acquired.session, messagesMax);
    return acquired.isReused;
  };
  return { receiver, clock, sessions, dial, use };
}

test('a session carries at most its number of messages', async () => {
  const { use, receiver } = await start();
  const reused: boolean[] = [];
  for (let message = 0; message < 7; message += 1) reused.push(await use(3));
  expect(reused).toEqual([false, true, true, false, true, true, false]);
  expect(receiver.connections()).toBe(3);
});

test('an idle session is closed after two seconds', async () => {
  const { use, clock, sessions, dial } = await start();
  await use(100);
  await clock.advance(1_900);
  expect(sessions.hasIdle(dial)).toBe(true);
  await clock.advance(200);
  expect(sessions.hasIdle(dial)).toBe(false);
});

test('an unreachable address is not dialled for a while, longer each time, until it answers again', async () => {
  const { clock, sessions, receiver } = await start();
  const dial = dialFor('127.0.0.9', receiver.port);
  const backoffs: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    const failed = await sessions.acquire(dial);
    expect(failed).toMatchObject({ kind: 'failed', stage: 'connect' });
    const backoff = sessions.backoffOf(dial);
    backoffs.push(((backoff?.untilMs ?? 0) - clock.now()) / 1_000);
    await clock.advance((backoff?.untilMs ?? 0) - clock.now());
    expect(sessions.backoffOf(dial)).toBeNull();
  }
  expect(backoffs).toEqual([10, 20, 40, 80, 160, 300, 300]);
  const late = await startReceiver({ host: '127.0.0.9', port: receiver.port, certificate: null });
  undo.push(() => late.stop());
  const opened = await sessions.acquire(dial);
  expect(opened.kind).toBe('ready');
  if (opened.kind === 'ready') sessions.release(opened.session, 0);
  expect(sessions.backoffOf(dial)).toBeNull();
});

test.each([3_600_000, -3_600_000])(
  'a wall clock set by %d ms neither ends nor lengthens the wait',
  async (by) => {
    const { clock, sessions, receiver } = await start();
    const dial = dialFor('127.0.0.11', receiver.port);
    clock.jump(by);
    expect((await sessions.acquire(dial)).kind).toBe('failed');
    clock.jump(-2 * by);
    expect(sessions.backoffOf(dial)?.untilMs).toBe(clock.steady() + 10_000);
    await clock.advance(9_999);
    expect(sessions.backoffOf(dial)).not.toBeNull();
    await clock.advance(1);
    expect(sessions.backoffOf(dial)).toBeNull();
  },
);

test('an address that answered begins with the shortest wait again', async () => {
  const { clock, sessions, receiver } = await start();
  const dial = dialFor('127.0.0.10', receiver.port);
  const fail = async (): Promise<number> => {
    expect((await sessions.acquire(dial)).kind).toBe('failed');
    const waitMs = (sessions.backoffOf(dial)?.untilMs ?? 0) - clock.now();
    await clock.advance(waitMs);
    return waitMs;
  };
  expect([await fail(), await fail()]).toEqual([10_000, 20_000]);
  expect(sessions.hasBackoffs).toBe(true);
  const late = await startReceiver({ host: '127.0.0.10', port: receiver.port, certificate: null });
  const opened = await sessions.acquire(dial);
  if (opened.kind === 'failed') throw new Error(opened.cause ?? 'failed');
  sessions.release(opened.session, 0);
  expect(sessions.hasBackoffs).toBe(false);
  await late.stop();
  expect(await fail()).toBe(10_000);
});

test('dials that fail at once count once', async () => {
  const { clock, sessions, receiver } = await start();
  const dial = dialFor('127.0.0.9', receiver.port);
  await Promise.all(Array.from({ length: 10 }, () => sessions.acquire(dial)));
  expect((sessions.backoffOf(dial)?.untilMs ?? 0) - clock.now()).toBe(10_000);
});
