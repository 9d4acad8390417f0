/** The kill switch is in force at once and survives a restart. */
import { expect, test } from 'bun:test';

import { HaltSwitch } from '../../src/flow/halt-switch.ts';
import { openFixture } from './fixture.ts';

test('a halt is in force at once, and again after a restart', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  expect(ctx.halt.state).toBeNull();
  await ctx.halt.halt('  ');
  const first = ctx.halt.state;
  expect(first?.reason).not.toBe('');
  clock.pass(5_000);
  await ctx.halt.halt('Fire.');
  expect(ctx.halt.state).toEqual({ reason: 'Fire.', since: first?.since ?? 0 });
  // Another switch over the same settings, as after a restart.
  const again = new HaltSwitch(ctx);
  expect(again.state).toBeNull();
  await again.load();
  expect(again.state).toEqual({ reason: 'Fire.', since: first?.since ?? 0 });
  expect(() => again.refuse()).toThrow('Fire.');
  expect([await again.resume(), await again.resume()]).toEqual([true, false]);
  await ctx.halt.load();
  expect(ctx.halt.state).toBeNull();
  await fixture.close();
});

test('a halt is in force although the store cannot be written', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const store = { ...ctx.store, setSetting: () => Promise.reject(new Error('the disk is full')) };
  const halt = new HaltSwitch({ ...ctx, store });
  const outcome = await halt.halt('Stop.').catch((error: Error) => error.message);
  expect(outcome).toBe('the disk is full');
  expect(() => halt.refuse()).toThrow('Stop.');
  await fixture.close();
});

test.each([['{}'], ['null'], ['"on"']])('a stored %s is a halt without a reason', async (text) => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  await ctx.store.setSetting('halt', text);
  await ctx.halt.load();
  expect(ctx.halt.state).toEqual({ reason: 'Halted by the operator.', since: 0 });
  await fixture.close();
});
