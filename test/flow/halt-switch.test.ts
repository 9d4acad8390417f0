/** The kill switch is in force at once and survives a restart. */
import { expect, test } from 'bun:test';

import { HaltSwitch } from '../../src/flow/halt-switch.ts';
import { openFixture, refusal } from './fixture.ts';

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

test('a halt and its end are logged once each, remembered by the store, and said to whoever sends', async () => {
  const fixture = await openFixture();
  const { ctx, logged } = fixture;
  const written: unknown[] = [];
  const store = {
    ...ctx.store,
    setSetting: async (...args: Parameters<typeof ctx.store.setSetting>) => {
      written.push(args);
      await ctx.store.setSetting(...args);
    },
  };
  const halt = new HaltSwitch({ ...ctx, store });
  halt.refuse();
  expect(await halt.resume()).toBe(false);
  const state = await halt.halt('  Fire.  ');
  expect(state).toEqual({ reason: 'Fire.', since: fixture.clock.now() });
  const refused = await refusal(Promise.resolve().then(() => halt.refuse()));
  expect(refused).toMatchObject({
    code: 'platform_halted',
    message: 'Sending is halted: Fire.',
    headers: { 'Retry-After': '60' },
  });
  expect(await halt.resume()).toBe(true);
  halt.refuse();
  expect((await halt.halt(' ')).reason).toBe('Halted by the operator.');
  const time = '2026-01-15T12:00:00.000Z';
  expect(logged).toEqual([
    { time, level: 'warn', event: 'halted', reason: 'Fire.' },
    { time, level: 'info', event: 'resumed' },
    { time, level: 'warn', event: 'halted', reason: 'Halted by the operator.' },
  ]);
  const remembered = { isRemembered: true };
  expect(written).toEqual([
    ['halt', null, remembered],
    ['halt', JSON.stringify(state), remembered],
    ['halt', null, remembered],
    ['halt', JSON.stringify(halt.state), remembered],
  ]);
  await fixture.close();
});

test('what was changed here while the store was asked is newer than its answer', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  let answer: (text: string | null) => void = () => undefined;
  let isSlow = true;
  const store = {
    ...ctx.store,
    setting: (name: string) =>
      isSlow
        ? new Promise<string | null>((resolve) => (answer = resolve))
        : ctx.store.setting(name),
  };
  const halt = new HaltSwitch({ ...ctx, store });
  const early = halt.load();
  await halt.halt('Fire.');
  answer(null);
  await early;
  expect(halt.state?.reason).toBe('Fire.');
  const late = halt.load();
  await halt.resume();
  answer('{"reason":"Old.","since":1}');
  await late;
  expect(halt.state).toBeNull();
  isSlow = false;
  // What another node has written since counts.
  await ctx.store.setSetting('halt', '{"reason":"Elsewhere.","since":2}');
  await halt.load();
  expect(halt.state).toEqual({ reason: 'Elsewhere.', since: 2 });
  await fixture.close();
});

test('a halt that could not be written stays in force whatever the store says, until it is resumed', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  let isFull = true;
  const store = {
    ...ctx.store,
    setSetting: (...args: Parameters<typeof ctx.store.setSetting>) =>
      isFull ? Promise.reject(new Error('the disk is full')) : ctx.store.setSetting(...args),
  };
  const halt = new HaltSwitch({ ...ctx, store });
  await halt.halt('Stop.').catch(() => undefined);
  await halt.load();
  expect(halt.state?.reason).toBe('Stop.');
  expect(await halt.resume().catch(() => 'full')).toBe('full');
  expect(halt.state?.reason).toBe('Stop.');
  isFull = false;
  await halt.resume();
  await ctx.store.setSetting('halt', '{"reason":"Elsewhere.","since":2}');
  await halt.load();
  expect(halt.state?.reason).toBe('Elsewhere.');
  await fixture.close();
});
