/** A reading that is kept: how often the store is asked, whatever is asked of it. */
import { expect, test } from 'bun:test';

import { KeptReading } from '../../src/health/kept-reading.ts';
import { TestClock } from '../rig/clock.ts';

/** A reading that takes `tookMs`, and gives the number of readings. */
function counting(tookMs: number) {
  const clock = new TestClock();
  let reads = 0;
  const kept = new KeptReading(clock, async () => {
    reads += 1;
    // A wall clock that is set meanwhile makes a reading neither long nor old.
    clock.jump(3_600_000);
    await clock.advance(tookMs);
    return reads;
  });
  return { clock, kept };
}

test('it is read at most every two seconds', async () => {
  const { clock, kept } = counting(0);
  expect(await kept.get()).toBe(1);
  await clock.advance(1_999);
  expect(await kept.get()).toBe(1);
  await clock.advance(1);
  expect(await kept.get()).toBe(2);
});

test('a slow one is read for a fiftieth of the time', async () => {
  const { clock, kept } = counting(400);
  expect(await kept.get()).toBe(1);
  await clock.advance(19_999);
  expect(await kept.get()).toBe(1);
  await clock.advance(1);
  expect(await kept.get()).toBe(2);
});

test('who asks meanwhile waits for the same reading; one that fails is not kept', async () => {
  const clock = new TestClock();
  const asked: PromiseWithResolvers<string>[] = [];
  const kept = new KeptReading(clock, () => {
    const reading = Promise.withResolvers<string>();
    asked.push(reading);
    return reading.promise;
  });
  const failed = Promise.allSettled([kept.get(), kept.get()]);
  expect(asked).toHaveLength(1);
  asked[0]?.reject(new Error('away'));
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const again = kept.get();
  asked[1]?.resolve('read');
  expect(await again).toBe('read');
  expect(await kept.get()).toBe('read');
  expect(asked).toHaveLength(2);
});
