/** How long a session is kept, how much it carries, and which addresses are left alone for a while. */
import { afterEach, expect, test } from 'bun:test';

import { Sessions } from '../../src/flow/sessions.ts';
import type { SessionOptions } from '../../src/wire/smtp-client.ts';
import { PRODUCTION_DEADLINES } from '../../src/wire/smtp-deadlines.ts';
import { TestClock } from '../rig/clock.ts';
import { startReceiver } from '../rig/receiver.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

function optionsFor(address: string, port: number): SessionOptions {
  return {
    address,
    port,
    localAddress: null,
    heloName: 'mail.rig.test',
    serverName: 'mx.rig.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  };
}

async function start() {
  const receiver = await startReceiver({ certificate: null });
  undo.push(() => receiver.stop());
  const clock = new TestClock();
  const sessions = new Sessions(clock);
  undo.push(() => sessions.stop());
  const options = optionsFor('127.0.0.1', receiver.port);
  const use = async (messagesMax: number): Promise<boolean> => {
    const acquired = await sessions.acquire(options);
    if (acquired.kind === 'failed') throw new Error(acquired.cause ?? 'failed');
    const result = await acquired.session.send({
      from: 'a@sender.example',
      to: 'b@example.com',
      message: Buffer.from('Subject: x\r\n\r\nx\r\n'),
      data: null,
      needsSmtpUtf8: false,
      dsn: false,
    });
    expect(result.kind).toBe('accepted');
    sessions.release(acquired.session, messagesMax);
    return acquired.isReused;
  };
  return { receiver, clock, sessions, options, use };
}

test('a session carries so many messages and no more', async () => {
  const { use, receiver } = await start();
  const reused: boolean[] = [];
  for (let message = 0; message < 7; message += 1) reused.push(await use(3));
  expect(reused).toEqual([false, true, true, false, true, true, false]);
  expect(receiver.connections()).toBe(3);
});

test('an idle session is closed after two seconds', async () => {
  const { use, clock, sessions, options } = await start();
  await use(100);
  await clock.advance(1_900);
  expect(sessions.hasIdle(options)).toBe(true);
  await clock.advance(200);
  expect(sessions.hasIdle(options)).toBe(false);
});

test('an unreachable address is left alone, longer each time, and known again once it answers', async () => {
  const { clock, sessions, receiver } = await start();
  const options = optionsFor('127.0.0.9', receiver.port);
  const rests: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    const failed = await sessions.acquire(options);
    expect(failed).toMatchObject({ kind: 'failed', stage: 'connect' });
    const rest = sessions.restOf(options);
    rests.push(((rest?.untilMs ?? 0) - clock.now()) / 1_000);
    await clock.advance((rest?.untilMs ?? 0) - clock.now());
    expect(sessions.restOf(options)).toBeNull();
  }
  expect(rests).toEqual([10, 20, 40, 80, 160, 300, 300]);
  const late = await startReceiver({ host: '127.0.0.9', port: receiver.port, certificate: null });
  undo.push(() => late.stop());
  const opened = await sessions.acquire(options);
  expect(opened.kind).toBe('ready');
  if (opened.kind === 'ready') sessions.release(opened.session, 0);
  expect(sessions.restOf(options)).toBeNull();
});

test('dials that fail at once count once', async () => {
  const { clock, sessions, receiver } = await start();
  const options = optionsFor('127.0.0.9', receiver.port);
  await Promise.all(Array.from({ length: 10 }, () => sessions.acquire(options)));
  expect((sessions.restOf(options)?.untilMs ?? 0) - clock.now()).toBe(10_000);
});
