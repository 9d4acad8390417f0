/** Calls that were claimed and could not be begun: they are known no more, and are begun when they are found again. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { StoreFullError } from '../../../src/store/store.ts';
import { openFixture, type Fixture } from '../fixture.ts';
import { refs, startNoted } from './noted-dispatcher.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

test.each([
  ['the disk is full', new StoreFullError('full'), 2_000],
  ['the store has a fault', new Error('odd'), 5_000],
])('while %s nothing is posted; afterwards each call is, once', async (_, fault, pauseMs) => {
  const { dispatcher, begun, ended, settle } = startNoted(fixture, {
    due: [refs(3), refs(3)],
    beginFaults: [fault],
  });
  dispatcher.start();
  await settle();
  expect([begun.length, ended.length]).toEqual([1, 0]);
  await fixture.clock.advance(pauseMs - 1);
  expect([begun.length, ended.length]).toEqual([1, 0]);
  await fixture.clock.advance(1);
  expect(begun.map((claims) => claims.map(({ id }) => id))).toEqual(
    [1, 2].map(() => ['e 0', 'e 1', 'e 2']),
  );
  expect(ended.map(({ call }) => call.id).toSorted()).toEqual(['e 0', 'e 1', 'e 2']);
  await dispatcher.stop();
});
