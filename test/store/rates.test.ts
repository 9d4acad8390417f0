/** What nodes tell each other of the requests that they let through. */
import { expect } from 'bun:test';

import type { Takes } from '../../src/store/rates.ts';
import { eachStore } from './stores.ts';

const MINUTE_MS = 60_000;

eachStore(
  'what a node tells is heard by the others, for as long as they ask back',
  async (store) => {
    const takes: Takes = { at: Date.now(), windows: [['send a', 1_000, 3]] };
    const more: Takes = { at: Date.now(), windows: [['read b', MINUTE_MS, 1]] };
    const first = await store.exchangeTakes('a', takes, MINUTE_MS);
    if ((await store.revision()) === null) {
      // Nobody else is there.
      expect(first).toBeNull();
      return;
    }
    expect(first).toEqual([]);
    const heard = await store.exchangeTakes('b', more, MINUTE_MS);
    expect(heard).toEqual([{ id: expect.any(Number), ...takes }]);
    // Its own is no news; nothing to tell makes none.
    expect(await store.exchangeTakes('a', null, MINUTE_MS)).toMatchObject([more]);
    expect(await store.exchangeTakes('c', null, MINUTE_MS)).toHaveLength(2);
    expect(await store.exchangeTakes('c', null, 0)).toEqual([]);
    // Each tells of its own, and hears all of the others in one answer.
    const third: Takes = {
      at: 7,
      windows: [
        ['send a', 1, 1],
        ['read b', 2, 2],
      ],
    };
    const others = await store.exchangeTakes('c', third, MINUTE_MS);
    expect(others?.map(({ at, windows }) => ({ at, windows }))).toEqual([takes, more]);
    expect(await store.exchangeTakes('a', takes, MINUTE_MS)).toMatchObject([more, third]);
  },
);
