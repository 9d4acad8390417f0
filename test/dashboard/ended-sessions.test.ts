/** Sessions that were ended stay so until they would have expired, over restarts, and are then forgotten. */
import { expect, test } from 'bun:test';

import { EndedSessions } from '../../src/dashboard/ended-sessions.ts';
import { openFixture } from '../flow/fixture.ts';

test('each is remembered until its expiry, whatever is ended after it', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  const ended = new EndedSessions(ctx);
  const start = clock.now();
  await ended.add('early', start + 1_000);
  await ended.add('late', start + 5_000);
  await ended.add('latest', start + 9_000);
  const known = async (one: EndedSessions): Promise<boolean[]> =>
    Promise.all(['early', 'late', 'latest', 'never'].map((nonce) => one.has(nonce)));
  expect(await known(ended)).toEqual([true, true, true, false]);
  expect(await known(new EndedSessions(ctx))).toEqual([true, true, true, false]);
  // What has expired by itself goes with the next one that is ended.
  await clock.advance(1_000);
  await ended.add('next', start + 20_000);
  expect(await known(ended)).toEqual([false, true, true, false]);
  expect(await known(new EndedSessions(ctx))).toEqual([false, true, true, false]);
  await fixture.close();
});
