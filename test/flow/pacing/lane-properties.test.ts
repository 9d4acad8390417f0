/**
 * A lane under random use: its limits hold at every step, nobody who waits for a session is forgotten or overtaken, and a
 * pause doubles and ends as it says. A failing test prints its seed; POSTRIDER_SEED repeats it.
 */
import { expect, test } from 'bun:test';

import type { Provider } from '../../../src/base/config.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { seeded } from '../../mail/random.ts';
import type { Random } from '../../mail/random.ts';
import { TestClock } from '../../rig/clock.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 60;
const STEPS = 400;
const ASKED = { cause: '421 4.7.28 slow down', class: 'rate' as const, hint: null };

function randomLimits(random: Random): Provider {
  return {
    ...OTHERS,
    name: 'Rig',
    connections: 1 + random.int(20),
    messagesPerMinute: random.chance(0.5) ? null : 1 + random.int(900),
  };
}

/** Lets promises that are resolved run on. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
}

test(`sessions: never more than the limit, first come, first served (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED);
  for (let round = 0; round < ROUNDS; round += 1) {
    const limits = randomLimits(random);
    const lane = new Lane('mx:a', limits, new TestClock());
    let [asked, inside] = [0, 0];
    const entered: number[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      const what = random.int(10);
      if (what < 4) {
        const caller = asked;
        asked += 1;
        void lane.enter().then(() => {
          inside += 1;
          entered.push(caller);
        });
      } else if (what < 8) {
        if (inside > 0) {
          inside -= 1;
          lane.leave();
        }
      } else if (what === 8) {
        lane.noteAnswer();
      } else {
        lane.noteUnreached();
      }
      await settle();
      expect(inside).toBeLessThanOrEqual(limits.connections);
    }
    for (; inside > 0; await settle()) {
      inside -= 1;
      lane.leave();
    }
    expect(entered).toEqual(Array.from({ length: asked }, (_, caller) => caller));
  }
});

test(`rate: over any time no more than the burst and what the time allows (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED + 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const perMinute = 1 + random.int(600);
    const clock = new TestClock();
    const lane = new Lane('mx:a', { ...OTHERS, messagesPerMinute: perMinute }, clock);
    const burst = Math.max(1, perMinute / 12);
    const at: number[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      for (let tries = random.int(5); tries > 0 && lane.hasCapacity(); tries -= 1) {
        lane.claim();
        lane.unclaim();
        at.push(clock.now());
      }
      clock.pass(random.int(random.chance(0.1) ? 30_000 : 300));
    }
    let most = 0;
    for (const [first, from] of at.entries()) {
      for (let last = first; last < at.length; last += 1) {
        const allowed = burst + (((at[last] ?? 0) - from) * perMinute) / 60_000;
        most = Math.max(most, last - first + 1 - allowed);
      }
    }
    expect(most).toBeLessThanOrEqual(1e-6);
  }
});

test(`claims: bounded, and who waits for capacity is told once (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED + 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    const limits = randomLimits(random);
    const clock = new TestClock();
    const lane = new Lane('mx:a', limits, clock);
    const most = Math.max(20, 2 * limits.connections);
    let claimed = 0;
    for (let step = 0; step < 60; step += 1) {
      for (; lane.hasCapacity(); claimed += 1) lane.claim();
      expect(claimed).toBeLessThanOrEqual(most);
      let told = 0;
      lane.onCapacity(() => (told += 1));
      const free = 1 + random.int(claimed);
      for (let count = 0; count < free; count += 1) lane.unclaim();
      claimed -= free;
      await clock.advance(60_000);
      expect(told).toBe(1);
      if (random.chance(0.5)) lane.noteAnswer();
    }
  }
});

test(`throttle: doubles with each request in a row, starts anew after an answer, ends when lifted (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED + 3);
  for (let round = 0; round < ROUNDS; round += 1) {
    const clock = new TestClock();
    const lane = new Lane('mx:a', randomLimits(random), clock);
    let inRow = 0;
    let untilMs = 0;
    for (let step = 0; step < STEPS; step += 1) {
      const what = random.int(10);
      const isThrottled = clock.now() < untilMs;
      if (what < 4) {
        const throttle = lane.slowDown(ASKED);
        if (!isThrottled) {
          untilMs = clock.now() + Math.min(60_000 * 2 ** inRow, 3_600_000);
          inRow += 1;
        }
        expect(throttle.untilMs).toBe(untilMs);
      } else if (what < 6) {
        lane.noteAnswer();
        if (!isThrottled) inRow = 0;
      } else if (what === 6) {
        lane.liftThrottle();
        untilMs = 0;
      } else {
        clock.pass(random.int(90 * 60_000));
      }
      expect(lane.throttleNow()?.untilMs ?? null).toBe(clock.now() < untilMs ? untilMs : null);
      expect(lane.pausesInRow).toBe(inRow);
    }
  }
});
