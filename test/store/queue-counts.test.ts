/** What waits, counted: by kind of destination over all of them, and by destination for the largest alone. */
import { expect } from 'bun:test';

import { destinationsIn, waitingIn } from '../../src/store/operator.ts';
import { accepted, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

eachStore('kinds count every destination, however few are listed', async (store, { id }) => {
  expect(await store.queueCounts(null, 9)).toEqual({ kinds: [], largest: [] });
  const waiting = [
    ['x@gmail.com', 'y@gmail.com', 'x@googlemail.com'],
    ['x@a.example', 'y@b.example'],
    ['z@b.example'],
    ['x@icloud.com'],
  ];
  for (const to of waiting) await accepted(store, newMessage(id, {}, to));
  const { kinds, largest } = await store.queueCounts(null, 2);
  const counted = kinds.map((row) => `${row.kind}: ${row.destinations}, ${row.waiting}`);
  expect(counted.toSorted()).toEqual(['apple: 1, 1', 'gmail: 2, 3', 'other: 2, 3']);
  expect(largest.map(({ domain }) => domain).toSorted()).toEqual(['b.example', 'gmail.com']);
  expect([destinationsIn(kinds), waitingIn(kinds)]).toEqual([5, 7]);
  // The oldest of a kind is the oldest of its destinations.
  const ages = (await store.queueCounts(null, 9)).largest;
  for (const { kind, oldestCreatedAt } of kinds) {
    const ofKind = ages.filter(({ domain }) =>
      kind === 'gmail'
        ? domain.includes('mail.com')
        : domain.endsWith(kind === 'apple' ? 'icloud.com' : '.example'),
    );
    expect(oldestCreatedAt).toBe(Math.min(...ofKind.map((row) => row.oldestCreatedAt)));
  }
});

eachStore('the largest of many destinations come first', async (store, { id }) => {
  // Three addresses a message, of as many destinations: how many wait for each.
  const waiting = new Map<string, number>();
  for (let at = 0; at < 12; at += 1) {
    const to = [at * at, at * 2, at * 3].map((one) => `d${one % 12}.example`);
    await accepted(
      store,
      newMessage(
        id,
        {},
        to.map((domain, index) => `u${index}@${domain}`),
      ),
    );
    for (const domain of to) waiting.set(domain, (waiting.get(domain) ?? 0) + 1);
  }
  for (let at = 0; at < 5; at += 1) {
    await accepted(store, newMessage(id, {}, [`more${at}@z${at % 2}.example`]));
    waiting.set(`z${at % 2}.example`, (waiting.get(`z${at % 2}.example`) ?? 0) + 1);
  }
  const sizes = [...waiting.values()].toSorted((a, b) => b - a);
  for (const limit of [1, 3, 5, waiting.size]) {
    const { kinds, largest } = await store.queueCounts(null, limit);
    expect(largest.map((row) => row.waiting)).toEqual(sizes.slice(0, limit));
    for (const row of largest) expect(row.waiting).toBe(waiting.get(row.domain) ?? 0);
    expect([destinationsIn(kinds), waitingIn(kinds)]).toEqual([waiting.size, 41]);
  }
});
