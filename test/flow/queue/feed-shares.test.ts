/** What a look asks of the store, and what becomes of the rows that it leaves there. */
import { expect, test } from 'bun:test';

import { Metrics } from '../../../src/base/metrics.ts';
import { QueueFeed } from '../../../src/flow/queue/feed.ts';
import type { FeedOptions } from '../../../src/flow/queue/feed.ts';
import { LINE_MAX, TAKE_MAX, TOTAL_MAX, Waiting } from '../../../src/flow/queue/waiting.ts';
import type { Destination } from '../../../src/flow/queue/waiting.ts';
import type { DueRequest, DueTaken, RecipientRef } from '../../../src/store/journey.ts';
import { TestClock } from '../../rig/clock.ts';

function refOf(number: number, domain = 'x.example'): RecipientRef {
  return { id: `r${String(number).padStart(6, '0')}`, accountId: 'a', domain, dueAt: number };
}

/** A feed over a store that gives these answers, one after the other. */
function feeding(answers: Partial<DueTaken>[]) {
  const waiting = new Waiting();
  const requests: DueRequest[] = [];
  const store = {
    async takeDue(request: DueRequest): Promise<DueTaken> {
      requests.push(request);
      return { ours: [], left: [], last: null, isEnd: true, ...answers[requests.length - 1] };
    },
    nextRecipientDue: async () => null,
  };
  const ctx = {
    clock: new TestClock(),
    metrics: new Metrics(),
    store,
    node: null,
  } as unknown as FeedOptions['ctx'];
  const ready = new Set<Destination>();
  const options = { ready: (of: Destination) => void ready.add(of), isRunning: () => true };
  const feed = new QueueFeed({ ctx, owner: 'me', waiting, ...options });
  const fill = async (destination: Destination): Promise<void> => {
    feed.fill(destination);
    while (destination.isFilling) await new Promise((resolve) => setImmediate(resolve));
  };
  return { waiting, requests, ready, feed, fill };
}

/** Gives the account as much as it may have, in lines that are full. */
function crowd(waiting: Waiting): Destination[] {
  const lines = new Set<Destination>();
  for (let at = 0; !waiting.isFullFor('a'); at += 1) {
    const line = waiting.add(refOf(100_000 + at, `d${Math.floor(at / LINE_MAX)}.example`));
    if (line !== null) lines.add(line);
  }
  return [...lines];
}

test('a look goes on behind the last row that it looked at, and so does the next look', async () => {
  const { requests, feed } = feeding([
    { ours: [refOf(1)], last: refOf(7), isEnd: false },
    { last: refOf(9) },
    {},
    {},
  ]);
  await feed.look();
  await feed.look();
  await feed.look();
  expect(requests.map(({ after }) => after?.dueAt ?? null)).toEqual([null, 7, 9, 9]);
  expect(requests[0]).toMatchObject({ owner: 'me', most: TAKE_MAX });
});

test('of a destination that a look leaves rows of, the line is filled from the first of them', async () => {
  const { waiting, requests, ready, feed, fill } = feeding([
    { ours: [refOf(1)], left: [refOf(2)], last: refOf(9) },
    { ours: [refOf(1), refOf(2)] },
  ]);
  await feed.look();
  const [destination] = ready;
  if (destination === undefined) throw new Error('no destination');
  expect([destination.hasMore, destination.line.length]).toEqual([true, 1]);
  await fill(destination);
  expect(requests[1]).toMatchObject({ after: null, most: LINE_MAX - 1, of: destination });
  expect(destination.line).toEqual([refOf(1), refOf(2)]);
  expect([destination.hasMore, destination.filledTo]).toEqual([false, refOf(2)]);
  expect(waiting.size).toBe(2);
});

test('a filling that the store leaves rows of does not go on behind them', async () => {
  const { waiting, requests, fill } = feeding([
    { ours: [refOf(5)], left: [refOf(3)] },
    { ours: [refOf(3), refOf(5)] },
  ]);
  const destination = waiting.add(refOf(1));
  if (destination === null) throw new Error('no destination');
  await fill(destination);
  expect([destination.hasMore, destination.filledTo]).toEqual([true, null]);
  await fill(destination);
  expect(requests[1]?.after).toBeNull();
  expect(destination.line.map(({ dueAt }) => dueAt)).toEqual([1, 5, 3]);
  expect(destination.hasMore).toBe(false);
});

test('nothing is taken for a long line, nor for an account without capacity', async () => {
  const { waiting, requests, feed } = feeding([]);
  for (let at = 0; at < LINE_MAX - TAKE_MAX + 1; at += 1) waiting.add(refOf(at));
  waiting.add(refOf(999, 'short.example'));
  await feed.look();
  const long = { accountId: 'a', domain: 'x.example' };
  expect(requests[0]?.without).toEqual({ accountIds: [], destinations: [long] });
  crowd(waiting);
  await feed.look();
  expect(requests[1]?.without.accountIds).toEqual(['a']);
  expect(waiting.size).toBeLessThan(TOTAL_MAX);
});

test('rows that a filling leaves for want of capacity are looked for when there is some', async () => {
  const { waiting, fill } = feeding([{ left: [refOf(3)] }]);
  const destination = waiting.add(refOf(1));
  const lines = crowd(waiting);
  if (destination === null) throw new Error('no destination');
  await fill(destination);
  expect(waiting.takeMissed()).toBe(false);
  for (const line of lines) {
    for (let at = 0; at < LINE_MAX / 2; at += 1) waiting.take(line);
  }
  expect(waiting.takeMissed()).toBe(true);
});
