/** Sessions that were ended stay so until they would have expired, over restarts, and are then forgotten. */
import { expect, test } from 'bun:test';

import { EndedSessions } from '../../src/dashboard/ended-sessions.ts';
import { openFixture } from '../flow/fixture.ts';

test('each is remembered until its expiry, by every node, whatever is ended beside it', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  const [ended, other] = [new EndedSessions(ctx), new EndedSessions(ctx)];
  const start = clock.now();
  const known = async (one: EndedSessions): Promise<boolean[]> =>
    Promise.all(['early', 'late', 'latest', 'never'].map((nonce) => one.has(nonce)));
  expect(await known(other)).toEqual([false, false, false, false]);
  await Promise.all([
    ended.add('early', start + 1_000),
    other.add('late', start + 5_000),
    ended.add('latest', start + 9_000),
  ]);
  expect(await known(ended)).toEqual([true, true, true, false]);
  expect(await known(other)).toEqual([true, true, true, false]);
  // What has expired by itself goes with retention.
  await ctx.store.setSetting('another', '1');
  await clock.advance(1_001);
  expect(await ctx.store.purgeExpired(clock.now(), clock.steady())).toBe(1);
  expect(await known(ended)).toEqual([false, true, true, false]);
  expect(await ctx.store.setting('another')).toBe('1');
  await fixture.close();
});
