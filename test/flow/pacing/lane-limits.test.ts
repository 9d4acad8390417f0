/** A lane at its limits: the figures of sessions, claims and rate, and what it tells of itself. */
import { expect, test } from 'bun:test';

import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { TestClock } from '../../rig/clock.ts';

const ASKED = { cause: '421 4.7.28 slow down', class: 'rate' as const, hint: 'see there' };

function laneWith(limits: Partial<typeof OTHERS>, sharers?: () => number) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  return { clock, lane: new Lane('mx:a.example', { ...OTHERS, ...limits }, clock, sharers) };
}

/** How many sessions are open after these asked for one; those that wait go on waiting. */
async function sessionsOf(lane: Lane, asking: number): Promise<number> {
  let inside = 0;
  for (let caller = 0; caller < asking; caller += 1) void lane.enter().then(() => (inside += 1));
  await new Promise((resolve) => setImmediate(resolve));
  return inside;
}

function claimAll(lane: Lane): number {
  let claimed = 0;
  for (; lane.hasCapacity(); claimed += 1) lane.claim();
  return claimed;
}

test('its name for people is the provider’s, else its hosts without what kind of site they are', () => {
  expect(laneWith({}).lane.name).toBe('a.example');
  expect(laneWith({ name: 'Rig' }).lane.name).toBe('Rig');
  expect(laneWith({}).lane.key).toBe('mx:a.example');
  const relay = new Lane('host:relay.example:587', OTHERS, new TestClock());
  expect(relay.name).toBe('relay.example:587');
});

test('each answer allows one session more, each silence half of them, and silence is no answer', async () => {
  const { lane } = laneWith({ connections: 12 });
  const allowed: number[] = [];
  const steps = ['answer', 'answer', 'silence', 'answer', 'silence', 'silence', 'silence'] as const;
  const known: boolean[] = [lane.hasAnswered];
  for (const step of steps) {
    if (step === 'answer') lane.noteAnswer();
    else lane.noteUnreached();
    known.push(lane.hasAnswered);
    const inside = await sessionsOf(lane, 12);
    allowed.push(inside);
    // All of them leave, those that waited too.
    for (let left = 0; left < 12; left += 1) lane.leave();
  }
  expect(allowed).toEqual([6, 7, 3, 4, 2, 1, 1]);
  expect(known).toEqual([false, true, true, false, true, false, false, false]);
});

test('an answer lets one that waits in at once, and none beyond the limit', async () => {
  const { lane } = laneWith({ connections: 6 });
  const order: number[] = [];
  for (let caller = 0; caller < 8; caller += 1) void lane.enter().then(() => order.push(caller));
  await sessionsOf(lane, 0);
  const inside = [order.length];
  for (let answer = 0; answer < 2; answer += 1) {
    lane.noteAnswer();
    await sessionsOf(lane, 0);
    inside.push(order.length);
  }
  expect([inside, order]).toEqual([
    [5, 6, 6],
    [0, 1, 2, 3, 4, 5],
  ]);
});

test('a lane begins with five sessions, or with as few as its limit', async () => {
  expect(await sessionsOf(laneWith({ connections: 3 }).lane, 9)).toBe(3);
  expect(await sessionsOf(laneWith({ connections: 9 }).lane, 9)).toBe(5);
});

test('twenty may be claimed however few sessions, and twice as many as there are many', () => {
  const { lane } = laneWith({ connections: 11 });
  expect(claimAll(lane)).toBe(20);
  for (let answer = 0; answer < 5; answer += 1) lane.noteAnswer();
  expect(claimAll(lane)).toBe(0);
  lane.noteAnswer();
  expect(claimAll(lane)).toBe(2);
});

test('a twelfth of a minute’s rate may go at once, at least one, and the next when its time has come', async () => {
  const { clock, lane } = laneWith({ messagesPerMinute: 60 });
  expect(claimAll(lane)).toBe(5);
  for (let claimed = 0; claimed < 5; claimed += 1) lane.unclaim();
  const offers: number[] = [];
  const beganAt = clock.now();
  lane.onCapacity(() => offers.push(clock.now() - beganAt));
  await clock.advance(999);
  expect([lane.hasCapacity(), offers]).toEqual([false, []]);
  await clock.advance(1);
  expect([lane.hasCapacity(), offers]).toEqual([true, [1_000]]);
  // What is not used is not saved up beyond that.
  await clock.advance(600_000);
  expect(claimAll(lane)).toBe(5);

  const slow = laneWith({ messagesPerMinute: 3 });
  expect(claimAll(slow.lane)).toBe(1);
  slow.clock.pass(19_999);
  expect(slow.lane.hasCapacity()).toBe(false);
  slow.clock.pass(1);
  expect(slow.lane.hasCapacity()).toBe(true);
});

test('a full lane waits for an end, not for time, and tells it once', async () => {
  const { clock, lane } = laneWith({ messagesPerMinute: 60_000 });
  claimAll(lane);
  let offers = 0;
  lane.onCapacity(() => (offers += 1));
  expect(clock.pending()).toEqual([]);
  await clock.advance(60_000);
  expect(offers).toBe(0);
  lane.unclaim();
  lane.unclaim();
  expect(offers).toBe(1);
});

test('while it is throttled the rate neither holds back what is deferred nor is used up by it', () => {
  const { lane } = laneWith({ messagesPerMinute: 60 });
  lane.slowDown(ASKED);
  expect(claimAll(lane)).toBe(20);
  for (let claimed = 0; claimed < 20; claimed += 1) lane.unclaim();
  lane.liftThrottle();
  expect(claimAll(lane)).toBe(5);
});

test('a site whose rate is used up is throttled all the same, and what is due is deferred', () => {
  const { lane } = laneWith({ messagesPerMinute: 60 });
  for (let claimed = claimAll(lane); claimed > 0; claimed -= 1) lane.unclaim();
  expect(lane.hasCapacity()).toBe(false);
  lane.slowDown(ASKED);
  expect(lane.hasCapacity()).toBe(true);
});

test('of a high rate the next message is told of after as few milliseconds as it takes', async () => {
  const { clock, lane } = laneWith({ messagesPerMinute: 240 });
  for (let claimed = claimAll(lane); claimed > 0; claimed -= 1) lane.unclaim();
  let offers = 0;
  lane.onCapacity(() => (offers += 1));
  await clock.advance(249);
  expect(offers).toBe(0);
  await clock.advance(1);
  expect(offers).toBe(1);
});

test('where a node has come no session is handed on, fewer are claimed, and silence halves its part', async () => {
  let live = 1;
  const sessions = laneWith({ connections: 8 }, () => live).lane;
  for (let answer = 0; answer < 9; answer += 1) sessions.noteAnswer();
  expect(await sessionsOf(sessions, 8)).toBe(8);
  let isIn = false;
  void sessions.enter().then(() => (isIn = true));
  live = 2;
  sessions.leave();
  await sessionsOf(sessions, 0);
  expect(isIn).toBe(false);

  live = 1;
  const claims = laneWith({ connections: 40 }, () => live).lane;
  for (let answer = 0; answer < 40; answer += 1) claims.noteAnswer();
  live = 2;
  expect(claimAll(claims)).toBe(40);
  claims.noteUnreached();
  expect(await sessionsOf(claims, 20)).toBe(10);
});

test('answers to one of two nodes allow its part, and what another one leaves comes one by one', async () => {
  let live = 2;
  const { lane } = laneWith({ connections: 16 }, () => live);
  for (let answer = 0; answer < 20; answer += 1) lane.noteAnswer();
  live = 1;
  expect(await sessionsOf(lane, 16)).toBe(8);
  lane.noteAnswer();
  lane.leave();
  expect(await sessionsOf(lane, 0)).toBe(0);
});

test('a throttle says until when, why and what to do; a pause after an answer begins anew', () => {
  const { clock, lane } = laneWith({});
  const throttle = lane.slowDown(ASKED);
  expect(throttle).toEqual({ ...ASKED, untilMs: clock.steady() + 60_000 });
  expect([lane.throttleNow(), lane.pausesInRow, lane.hasAnswered]).toEqual([throttle, 1, true]);
  clock.pass(59_999);
  // It answers in a session that was open before: its pause goes on.
  lane.noteAnswer();
  expect([lane.throttleNow(), lane.pausesInRow]).toEqual([throttle, 1]);
  clock.pass(1);
  expect([lane.throttleNow(), lane.isIdle]).toEqual([null, false]);
  lane.noteAnswer();
  expect([lane.pausesInRow, lane.isIdle]).toEqual([0, true]);
});

test('after a pause there is one session, and one more with each answer', async () => {
  const { clock, lane } = laneWith({});
  for (let answer = 0; answer < 5; answer += 1) lane.noteAnswer();
  const { untilMs } = lane.slowDown(ASKED);
  clock.pass(untilMs - clock.steady());
  expect(await sessionsOf(lane, 3)).toBe(1);
  lane.noteAnswer();
  lane.leave();
  expect(await sessionsOf(lane, 1)).toBe(0);
  lane.leave();
  lane.leave();
  expect(await sessionsOf(lane, 1)).toBe(1);
});

test('what the operator lifts is over at once, is told to who waits, and is not forgotten', () => {
  const { clock, lane } = laneWith({});
  lane.slowDown(ASKED);
  claimAll(lane);
  let offers = 0;
  lane.onCapacity(() => (offers += 1));
  lane.liftThrottle();
  expect([offers, lane.throttleNow(), lane.pausesInRow]).toEqual([1, null, 1]);
  expect(lane.slowDown(ASKED).untilMs - clock.steady()).toBe(120_000);
});

test('with other nodes each has its part of the rate and of what may go at once, and at least one session', async () => {
  let live = 2;
  const { clock, lane } = laneWith({ messagesPerMinute: 120, connections: 3 }, () => live);
  expect(claimAll(lane)).toBe(5);
  for (let claimed = 0; claimed < 5; claimed += 1) lane.unclaim();
  clock.pass(1_000);
  expect(claimAll(lane)).toBe(1);
  lane.unclaim();
  let offers = 0;
  lane.onCapacity(() => (offers += 1));
  live = 1;
  lane.sharersChanged();
  expect(offers).toBe(1);
  clock.pass(500);
  expect(lane.hasCapacity()).toBe(true);
  live = 4;
  expect(await sessionsOf(lane, 4)).toBe(1);
});

test('a lane made among many nodes begins with the usual sessions when it has the limits to itself', async () => {
  let sharers = 4;
  const { lane } = laneWith({ connections: 12 }, () => sharers);
  expect(await sessionsOf(lane, 9)).toBe(3);
  for (let left = 0; left < 9; left += 1) lane.leave();
  sharers = 1;
  expect(await sessionsOf(lane, 9)).toBe(5);
});

test('an answer in a session that was open is one during a pause too, and ends neither pause nor its doubling', () => {
  const { lane, clock } = laneWith({});
  const pause = lane.slowDown(ASKED);
  lane.noteUnreached();
  expect(lane.hasAnswered).toBe(false);
  lane.noteAnswer();
  expect([lane.hasAnswered, lane.throttleNow(), lane.pausesInRow]).toEqual([true, pause, 1]);
  clock.pass(60_000);
  expect([lane.throttleNow(), lane.isIdle]).toEqual([null, false]);
  expect(lane.slowDown(ASKED).untilMs).toBe(clock.steady() + 120_000);
});
