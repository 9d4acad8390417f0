/** Nodes on one store have one steady time, whatever the clocks of their machines say. */
import { expect, test } from 'bun:test';

import { ClockMarks, readClock } from '../../src/flow/kept-clock.ts';
import { TestClock } from '../rig/clock.ts';

const HOUR_MS = 3_600_000;
const TIME = Date.UTC(2026, 0, 15, 12, 0, 0);

/** What `readClock` reads of a store that says it is `TIME`; `lagMs`: how long the answer takes. */
function storeAt(clock: TestClock, mark: string | null = null, lagMs = 0) {
  return {
    setting: () => Promise.resolve(mark),
    setSetting: () => Promise.reject(new Error('nothing is written')),
    async storeTime() {
      clock.pass(lagMs);
      return await Promise.resolve(TIME);
    },
  };
}

test.each([-HOUR_MS, 0, HOUR_MS, 365 * 24 * HOUR_MS])(
  'a machine whose wall clock is %p ms off goes by the store',
  async (offMs) => {
    const machine = new TestClock(TIME + offMs);
    const clock = await readClock(machine, storeAt(machine));
    expect(clock.steady()).toBe(TIME);
    expect(clock.now()).toBe(TIME + offMs);
    machine.pass(5_000);
    expect(clock.steady()).toBe(TIME + 5_000);
    machine.jump(HOUR_MS);
    expect(clock.steady()).toBe(TIME + 5_000);
  },
);

test('the time of the question counts half, and a mark of files that were carried over stays', async () => {
  const slow = new TestClock(TIME - HOUR_MS);
  // Time passes alike by each clock of the machine; what they say differs.
  slow.jump(-HOUR_MS);
  expect((await readClock(slow, storeAt(slow, null, 400))).steady()).toBe(TIME + 200);
  const machine = new TestClock(TIME);
  // Steady time was a minute ahead of the wall clock when the files were left.
  const mark = { steady: TIME - HOUR_MS + 60_000, wall: TIME - HOUR_MS, uptime: 1, bootId: 'x' };
  // The mark's own times are of another machine, perhaps: the store's time counts, whatever the wall clock says.
  for (const one of [machine, new TestClock(TIME - 3 * HOUR_MS), new TestClock(TIME + HOUR_MS)]) {
    const clock = await readClock(one, storeAt(one, JSON.stringify(mark)));
    expect(clock.steady()).toBe(TIME + 60_000);
  }
});

test('on a store of one machine time goes on from its mark, and begins with the wall clock where there is none', async () => {
  const own = (mark: unknown) => ({
    ...storeAt(new TestClock(TIME)),
    setting: () => Promise.resolve(mark === null ? null : JSON.stringify(mark)),
    storeTime: () => Promise.resolve(null),
  });
  expect((await readClock(new TestClock(TIME), own(null))).steady()).toBe(TIME);
  // Marked in this boot, an hour ahead: so it stays, whatever the wall clock says.
  const machine = new TestClock(TIME);
  machine.pass(5_000);
  const mark = { steady: TIME + HOUR_MS, wall: TIME, uptime: 2_000, bootId: 'boot' };
  machine.jump(-HOUR_MS);
  expect((await readClock(machine, own(mark))).steady()).toBe(TIME + HOUR_MS + 3_000);
});

test('the time is marked anew each minute, over the mark before', async () => {
  const machine = new TestClock(TIME);
  const clock = await readClock(machine, storeAt(machine));
  let kept: string | null = null;
  const marks = new ClockMarks(clock, {
    setting: () => Promise.resolve(kept),
    async setSetting(_name, value) {
      kept = value;
      await Promise.resolve();
    },
  });
  const steady = async (): Promise<unknown> => {
    await marks.run();
    return (JSON.parse(kept ?? '{}') as { steady?: number }).steady;
  };
  expect(await steady()).toBe(TIME);
  machine.pass(marks.everyMs());
  expect([await steady(), marks.everyMs()]).toEqual([TIME + 60_000, 60_000]);
});
