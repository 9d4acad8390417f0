/** The kill switch survives a restart, and answers that are kept in memory never outlive a change. */
import { expect, test } from 'bun:test';
import { halt, haltOf, loadHalt, refuseWhileHalted, resume } from '../../src/flow/halt.ts';
import { Known } from '../../src/flow/known.ts';
import { TestClock } from '../rig/clock.ts';
import { openHouse } from './house.ts';

test('a halt is in force at once, and again after a restart', async () => {
  const house = await openHouse();
  expect(await loadHalt(house.ctx)).toBeNull();
  await halt(house.ctx, '  ');
  const first = haltOf(house.ctx);
  expect(first?.reason).not.toBe('');
  house.clock.jump(5_000);
  await halt(house.ctx, 'Fire.');
  expect(haltOf(house.ctx)).toEqual({ reason: 'Fire.', since: first?.since ?? 0 });
  // Another store object over the same settings, as after a restart.
  const again = { ...house.ctx, store: { ...house.ctx.store } };
  expect(haltOf(again)).toBeNull();
  expect(await loadHalt(again)).toEqual({ reason: 'Fire.', since: first?.since ?? 0 });
  expect(() => refuseWhileHalted(again)).toThrow('Fire.');
  expect([await resume(again), await resume(again)]).toEqual([true, false]);
  expect(await loadHalt(house.ctx)).toBeNull();
  await house.close();
});

test('an answer read before a change is not kept', async () => {
  const known = new Known<number>(new TestClock());
  let finish: (value: number) => void = () => undefined;
  const slow = known.find('a', () => new Promise<number>((resolve) => (finish = resolve)));
  known.forget();
  finish(1);
  expect(await slow).toBe(1);
  expect(await known.find('a', async () => 2)).toBe(2);
  expect(await known.find('a', async () => 3)).toBe(2);
});

test('absence is not kept, and nothing is kept for long or after the clock steps back', async () => {
  const clock = new TestClock();
  const known = new Known<number>(clock);
  expect(await known.find('a', async () => null)).toBeNull();
  expect(await known.find('a', async () => 1)).toBe(1);
  await clock.advance(29_000);
  expect(await known.find('a', async () => 2)).toBe(1);
  await clock.advance(2_000);
  expect(await known.find('a', async () => 3)).toBe(3);
  clock.jump(-3_600_000);
  expect(await known.find('a', async () => 4)).toBe(4);
});
