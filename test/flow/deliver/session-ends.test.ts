/** When the pool forgets: addresses that failed, sessions that broke, what is idle, and everything at its stop. */
import { afterEach, expect, test } from 'bun:test';

import { dialOf, type Dial } from '../../../src/flow/deliver/host-address.ts';
import { Sessions } from '../../../src/flow/deliver/session-pool.ts';
import type { SessionOptions, SmtpSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES, type Stage } from '../../../src/wire/smtp/deadlines.ts';
import { DialogueEnd } from '../../../src/wire/smtp/dialogue.ts';
import { TestClock } from '../../rig/clock.ts';
import { startReceiver } from '../../rig/receiver.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** A dial that fails before it opens a socket; `dialled` counts how often. */
function failing(peer: string, stage: Stage = 'connect', isLocal = false) {
  const state = { dialled: 0 };
  const options = Object.defineProperty({ tls: {} }, 'address', {
    enumerable: true,
    get: () => {
      state.dialled += 1;
      throw new DialogueEnd(stage, `${peer} failed`, null, isLocal);
    },
  }) as SessionOptions;
  const dial: Dial = { options, peer, key: peer };
  return { state, dial };
}

/** Resolves once the session has said QUIT and is closed. */
async function closed(session: SmtpSession): Promise<void> {
  while (session.isUsable) await new Promise((resolve) => setImmediate(resolve));
}

async function start() {
  const receiver = await startReceiver({ certificate: null });
  undo.push(() => receiver.stop());
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const sessions = new Sessions(clock);
  undo.push(() => sessions.stop());
  const dial = dialOf({
    address: '127.0.0.1',
    port: receiver.port,
    localAddress: null,
    heloName: 'mail.rig.test',
    serverName: 'mx.rig.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  });
  const open = async (mayReuse?: boolean): Promise<SmtpSession> => {
    const acquired = await sessions.acquire(dial, mayReuse);
    if (acquired.kind === 'failed') throw new Error(acquired.cause ?? 'failed');
    return acquired.session;
  };
  return { receiver, clock, sessions, dial, open };
}

test('ten thousand addresses are remembered as unreachable; one more, and it is the only one', async () => {
  const sessions = new Sessions(new TestClock());
  const first = failing('first');
  await sessions.acquire(first.dial);
  for (let n = 1; n < 10_000; n += 1) await sessions.acquire(failing(`p${n}`).dial);
  expect(sessions.backoffOf(first.dial)).not.toBeNull();
  const last = failing('last');
  await sessions.acquire(last.dial);
  expect(sessions.backoffOf(first.dial)).toBeNull();
  expect(sessions.backoffOf(failing('p9999').dial)).toBeNull();
  expect(sessions.backoffOf(last.dial)).not.toBeNull();
});

test('who asks for an address that failed gets that failure, undialled, until the wait is over or an operator asks', async () => {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const sessions = new Sessions(clock);
  const { state, dial } = failing('a');
  const failure = await sessions.acquire(dial);
  expect(failure).toEqual({
    kind: 'failed',
    stage: 'connect',
    reply: null,
    cause: 'a failed',
    isLocal: false,
    tlsFailed: false,
  });
  expect(await sessions.acquire(dial)).toBe(failure as never);
  expect(sessions.backoffOf(dial)).toMatchObject({ untilMs: clock.steady() + 10_000, failure });
  clock.pass(9_999);
  await sessions.acquire(dial, false);
  expect(state.dialled).toBe(1);
  clock.pass(1);
  await sessions.acquire(dial);
  expect(state.dialled).toBe(2);
  sessions.forgetBackoffs();
  expect([sessions.hasBackoffs, sessions.backoffOf(dial)]).toEqual([false, null]);
  await sessions.acquire(dial);
  // What was forgotten begins with the shortest wait.
  expect([state.dialled, sessions.backoffOf(dial)?.untilMs]).toEqual([3, clock.steady() + 10_000]);
});

test.each([
  ['connect', true],
  ['banner', false],
  ['ehlo', false],
  ['handshake', false],
] as const)('a failure at %s, ours: %p, says nothing about the address', async (stage, isLocal) => {
  const sessions = new Sessions(new TestClock());
  const { state, dial } = failing('a', stage, isLocal);
  expect(await sessions.acquire(dial)).toMatchObject({ stage, isLocal });
  expect(sessions.hasBackoffs).toBe(false);
  await sessions.acquire(dial);
  expect(state.dialled).toBe(2);
});

test('an address that refuses one more connection while it serves another is busy; without one it counts', async () => {
  const { sessions, dial, open } = await start();
  const busy = failing(dial.peer).dial;
  const session = await open();
  await sessions.acquire(busy);
  expect(sessions.hasBackoffs).toBe(false);
  sessions.release(session, 10);
  // It is idle now, and open.
  await sessions.acquire(busy);
  expect(sessions.hasBackoffs).toBe(false);
  await sessions.acquire(failing('another').dial);
  expect(sessions.backoffOf(failing('another').dial)).not.toBeNull();
  sessions.release(await open(), 0);
  await sessions.acquire(busy);
  expect(sessions.backoffOf(busy)).not.toBeNull();
});

test('a session that broke is not kept, and the address it had is no longer served', async () => {
  const { clock, sessions, dial, open } = await start();
  const session = await open();
  session.destroy();
  sessions.release(session, 10);
  expect([sessions.hasIdle(dial), clock.pending()]).toEqual([false, []]);
  await sessions.acquire(failing(dial.peer).dial);
  expect(sessions.hasBackoffs).toBe(true);
});

test('an idle session that broke is let go before its address is dialled', async () => {
  const { clock, sessions, dial, open } = await start();
  const session = await open();
  sessions.release(session, 10);
  session.destroy();
  const again = { ...failing(dial.peer).dial, key: dial.key };
  expect((await sessions.acquire(again)).kind).toBe('failed');
  expect([sessions.hasIdle(dial), sessions.hasBackoffs, clock.pending()]).toEqual([
    false,
    true,
    [],
  ]);
});

test('the session given back last is taken first, one that broke meanwhile is passed over, and a new one may be asked for', async () => {
  const { clock, sessions, dial, open, receiver } = await start();
  const [one, two, three] = [await open(), await open(), await open()];
  for (const session of [one, two, three]) sessions.release(session, 10);
  expect(clock.pending()).toHaveLength(3);
  three.destroy();
  const taken = await sessions.acquire(dial);
  expect(taken.kind === 'ready' && taken.session === two && taken.isReused).toBe(true);
  // Those that were taken are not timed any more.
  expect(clock.pending()).toHaveLength(1);
  const fresh = await open(false);
  expect([one, two, three]).not.toContain(fresh);
  expect(await open()).toBe(one);
  expect([sessions.hasIdle(dial), receiver.connections()]).toEqual([false, 4]);
});

test('an idle session ends after two seconds to the millisecond, and no other with it', async () => {
  const { clock, sessions, dial, open } = await start();
  const [one, two] = [await open(), await open()];
  sessions.release(one, 10);
  await clock.advance(1);
  sessions.release(two, 10);
  await clock.advance(1_998);
  expect([one.isUsable, two.isUsable]).toEqual([true, true]);
  await clock.advance(1);
  await closed(one);
  expect([two.isUsable, sessions.hasIdle(dial)]).toEqual([true, true]);
  await clock.advance(1);
  expect([sessions.hasIdle(dial), clock.pending()]).toEqual([false, []]);
  await closed(two);
  await sessions.acquire(failing(dial.peer).dial);
  expect(sessions.hasBackoffs).toBe(true);
});

test('a stop ends what is idle and its timers; what is in use ends when it is given back', async () => {
  const { clock, sessions, dial, open } = await start();
  const [idle, used] = [await open(), await open()];
  sessions.release(idle, 10);
  await sessions.stop();
  expect([idle.isUsable, used.isUsable, clock.pending()]).toEqual([false, true, []]);
  sessions.release(used, 10);
  expect([sessions.hasIdle(dial), clock.pending()]).toEqual([false, []]);
  await closed(used);
  await sessions.acquire(failing(dial.peer).dial);
  expect(sessions.hasBackoffs).toBe(true);
  await sessions.stop();
});
