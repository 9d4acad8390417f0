/** Lanes: sessions, rate, slow-down; and who is recognised by an MX host's name. */
import { describe, expect, test } from 'bun:test';

import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS, limitsFor } from '../../../src/flow/pacing/provider-limits.ts';
import { TestClock } from '../../rig/clock.ts';

const LIMITS = { ...OTHERS, name: 'Rig', connections: 8 };
const ASKED = { cause: '421 4.7.28 slow down', class: 'rate' as const, hint: 'see there' };

/** Claims until there is no capacity; returns how many. */
function claimAll(lane: Lane): number {
  let claimed = 0;
  for (; lane.hasCapacity(); claimed += 1) lane.claim();
  return claimed;
}

/** How many of `count` callers get a session at once. */
async function entered(lane: Lane, count: number): Promise<number> {
  let inside = 0;
  for (let caller = 0; caller < count; caller += 1) void lane.enter().then(() => (inside += 1));
  await new Promise((resolve) => setImmediate(resolve));
  return inside;
}

describe('sessions', () => {
  test('begin few and grow with each answer, up to the limit', async () => {
    const lane = new Lane('mx:a', LIMITS, new TestClock());
    expect(await entered(lane, 20)).toBe(5);
    const wide = new Lane('mx:a', LIMITS, new TestClock());
    for (let answer = 0; answer < 100; answer += 1) wide.noteAnswer();
    expect(await entered(wide, 20)).toBe(LIMITS.connections);
  });

  test('are handed on in the order of asking', async () => {
    const lane = new Lane('mx:a', { ...LIMITS, connections: 1 }, new TestClock());
    const order: number[] = [];
    for (const caller of [1, 2, 3]) void lane.enter().then(() => order.push(caller));
    await entered(lane, 0);
    expect(order).toEqual([1]);
    lane.leave();
    await entered(lane, 0);
    expect(order).toEqual([1, 2]);
  });

  test('halve when the site cannot be reached, but never to none', async () => {
    const lane = new Lane('mx:a', LIMITS, new TestClock());
    for (let failure = 0; failure < 9; failure += 1) lane.noteUnreached();
    expect(await entered(lane, 20)).toBe(1);
  });
});

test('claims run ahead of sessions, and the lane tells when there is capacity', () => {
  const lane = new Lane('mx:a', { ...LIMITS, connections: 30 }, new TestClock());
  expect(claimAll(lane)).toBe(20);
  for (let answer = 0; answer < 100; answer += 1) lane.noteAnswer();
  expect(claimAll(lane)).toBe(40);
  let offers = 0;
  lane.onCapacity(() => (offers += 1));
  lane.unclaim();
  lane.unclaim();
  expect(offers).toBe(1);
  expect(lane.hasCapacity()).toBe(true);
});

test('may be forgotten with nothing claimed, and after a pause only once it took mail again', async () => {
  const clock = new TestClock();
  const lane = new Lane('mx:a', LIMITS, clock);
  expect(lane.isIdle).toBe(true);
  lane.claim();
  expect(lane.isIdle).toBe(false);
  lane.unclaim();
  expect(lane.isIdle).toBe(true);
  const { untilMs } = lane.slowDown(ASKED);
  expect(lane.isIdle).toBe(false);
  await clock.advance(untilMs - clock.now());
  expect(lane.throttleNow()).toBeNull();
  // What it asked for is remembered: the next pause is twice as long.
  expect(lane.isIdle).toBe(false);
  lane.noteAnswer();
  expect(lane.isIdle).toBe(true);
});

test('a rate is kept over any minute, and capacity returns by time alone', async () => {
  const clock = new TestClock();
  const lane = new Lane('mx:a', { ...LIMITS, messagesPerMinute: 120 }, clock);
  let sent = 0;
  const send = (): void => {
    for (; lane.hasCapacity(); sent += 1) {
      lane.claim();
      lane.unclaim();
    }
    lane.onCapacity(send);
  };
  send();
  const burst = sent;
  expect(burst).toBeLessThanOrEqual(12);
  await clock.advance(60_000);
  expect(sent - burst).toBeGreaterThanOrEqual(118);
  expect(sent - burst).toBeLessThanOrEqual(121);
});

describe('limits that several nodes share', () => {
  /** A lane among as many as `nodes.live` says. */
  function shared(limits: Partial<typeof LIMITS>) {
    const [clock, nodes] = [new TestClock(), { live: 1 }];
    const lane = new Lane('host:a', { ...LIMITS, ...limits }, clock, () => nodes.live);
    const become = (live: number): void => {
      nodes.live = live;
      lane.sharersChanged();
    };
    return { clock, lane, become };
  }

  test.each([
    [1, 8],
    [2, 4],
    [3, 2],
    [100, 1],
  ])('among %d nodes each has %d of 8 sessions', async (live, part) => {
    const { lane, become } = shared({ connections: 8 });
    become(live);
    for (let answer = 0; answer < 10; answer += 1) lane.noteAnswer();
    expect(await entered(lane, 20)).toBe(part);
  });

  test('with another node the next sessions wait until there are fewer', async () => {
    const { lane, become } = shared({ connections: 8 });
    for (let answer = 0; answer < 10; answer += 1) lane.noteAnswer();
    expect(await entered(lane, 8)).toBe(8);
    become(2);
    for (let session = 0; session < 4; session += 1) lane.leave();
    expect(await entered(lane, 1)).toBe(0);
    // The one that waits comes in, and nobody after it.
    lane.leave();
    expect(await entered(lane, 1)).toBe(0);
  });

  test('who waits for a session gets one when a node has gone', async () => {
    const { lane, become } = shared({ connections: 4 });
    become(4);
    let inside = 0;
    for (let caller = 0; caller < 4; caller += 1) void lane.enter().then(() => (inside += 1));
    await entered(lane, 0);
    expect(inside).toBe(1);
    become(1);
    await entered(lane, 0);
    expect(inside).toBe(4);
  });

  test('a rate is divided too, also below one a minute, and follows the nodes', async () => {
    const { clock, lane, become } = shared({ messagesPerMinute: 3 });
    let sent = 0;
    const send = (): void => {
      for (; lane.hasCapacity(); sent += 1) {
        lane.claim();
        lane.unclaim();
      }
      lane.onCapacity(send);
    };
    const inTenMinutes = async (): Promise<number> => {
      const before = sent;
      await clock.advance(10 * 60_000);
      return sent - before;
    };
    become(6);
    send();
    expect(await inTenMinutes()).toBeWithin(4, 7);
    become(3);
    expect(await inTenMinutes()).toBeWithin(9, 12);
    become(1);
    expect(await inTenMinutes()).toBeWithin(29, 32);
    become(2);
    expect(await inTenMinutes()).toBeWithin(14, 17);
  });
});

describe('a site that asks us to slow down', () => {
  test('gets a pause of a minute, twice as long each further time, and then one session', async () => {
    const clock = new TestClock();
    const lane = new Lane('provider:Rig', LIMITS, clock);
    const pauses: number[] = [];
    for (let time = 0; time < 9; time += 1) {
      const throttle = lane.slowDown(ASKED);
      pauses.push((throttle.untilMs - clock.now()) / 60_000);
      expect(lane.throttleNow()).toMatchObject(ASKED);
      await clock.advance(throttle.untilMs - clock.now());
      expect(lane.throttleNow()).toBeNull();
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(await entered(lane, 20)).toBe(1);
  });

  test('is not slowed further by sessions that were open when it asked', async () => {
    const clock = new TestClock();
    const lane = new Lane('provider:Rig', LIMITS, clock);
    const { untilMs } = lane.slowDown(ASKED);
    await clock.advance(10_000);
    lane.noteAnswer();
    expect(lane.slowDown(ASKED).untilMs).toBe(untilMs);
  });

  test('is fast again after it took mail, and at once when the operator says so', async () => {
    const clock = new TestClock();
    const lane = new Lane('provider:Rig', LIMITS, clock);
    for (let time = 0; time < 3; time += 1) {
      await clock.advance(lane.slowDown(ASKED).untilMs - clock.now());
    }
    lane.noteAnswer();
    expect(lane.slowDown(ASKED).untilMs - clock.now()).toBe(60_000);
    lane.liftThrottle();
    expect(lane.throttleNow()).toBeNull();
  });
});

describe('providers', () => {
  const known: [host: string, name: string][] = [
    ['gmail-smtp-in.l.google.com', 'Gmail'],
    ['aspmx.l.google.com', 'Gmail'],
    ['alt1.aspmx.l.google.com', 'Gmail'],
    ['outlook-com.olc.protection.outlook.com', 'Outlook'],
    ['example-com.mail.protection.outlook.com', 'Office 365'],
    ['example-com.b-v1.mx.microsoft', 'Office 365'],
    ['mta5.am0.yahoodns.net', 'Yahoo'],
    ['mx01.mail.icloud.com', 'Apple'],
    ['mx.example.com', ''],
    ['notgoogle.com', ''],
    ['google.com.evil.example', ''],
  ];
  for (const [host, name] of known) {
    test(`${host} is ${name || 'no known provider'}`, () => {
      expect(limitsFor(host, []).name).toBe(name);
    });
  }

  test('the operator comes first', () => {
    const mine = { ...LIMITS, name: 'Mine', mx: ['l.google.com'] };
    expect(limitsFor('aspmx.l.google.com', [mine]).name).toBe('Mine');
    expect(limitsFor('mx.l.google.com.example', [mine]).name).toBe('');
  });
});
