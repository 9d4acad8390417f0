/** Every question that the feed asks of the store, whole: where a look begins, how far it goes, and what a failure costs. */
import { expect, test } from 'bun:test';

import { createLog } from '../../../src/base/log.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { QueueFeed } from '../../../src/flow/queue/feed.ts';
import type { FeedOptions } from '../../../src/flow/queue/feed.ts';
import { Waiting } from '../../../src/flow/queue/waiting.ts';
import type { DueRequest, DueTaken, RecipientRef } from '../../../src/store/journey.ts';
import { TestClock } from '../../rig/clock.ts';

const MINUTE = 60_000;

function refOf(number: number, id = `r${number}`): RecipientRef {
  return { id, accountId: 'a', domain: 'x.example', dueAt: number };
}

type Answer = Partial<DueTaken> | Error;

/** A feed over a store that gives these answers one after the other, and then empty ones. */
function feeding(answers: Answer[], isNode = false) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const waiting = new Waiting();
  const metrics = new Metrics();
  const state = { isRunning: true, next: null as number | Error | null };
  const requests: DueRequest[] = [];
  const nextAsked: number[] = [];
  const lines: string[] = [];
  const ready: string[] = [];
  const store = {
    async takeDue(request: DueRequest): Promise<DueTaken> {
      requests.push({ ...request });
      const answer = answers[requests.length - 1] ?? {};
      await Promise.resolve();
      clock.pass(1_500);
      if (answer instanceof Error) throw answer;
      return { ours: [], left: [], last: null, isEnd: true, ...answer };
    },
    async nextRecipientDue(now: number) {
      nextAsked.push(now);
      if (state.next instanceof Error) throw state.next;
      return state.next;
    },
  };
  const log = createLog(
    (line) => lines.push(line),
    () => clock.now(),
  );
  const node = isNode ? {} : null;
  const ctx = { clock, metrics, store, log, node } as unknown as FeedOptions['ctx'];
  const feed = new QueueFeed({
    ctx,
    owner: 'me',
    waiting,
    ready: ({ domain, line }) => ready.push(`${domain} ${line.length}`),
    isRunning: () => state.isRunning,
  });
  /** Looks `atMs` after the beginning; returns where each page began. */
  const began = clock.steady();
  const lookAt = async (atMs: number): Promise<(number | null)[]> => {
    clock.pass(began + atMs - clock.steady());
    const before = requests.length;
    await feed.look();
    return requests.slice(before).map(({ after }) => after?.dueAt ?? null);
  };
  const fill = async (destination: ReturnType<typeof waiting.add>): Promise<void> => {
    if (destination === null) throw new Error('no destination');
    feed.fill(destination);
    while (destination.isFilling) await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, waiting, metrics, state, requests, nextAsked, lines, ready, feed, lookAt, fill };
}

const NOTHING_FULL = { accountIds: [], destinations: [] };

test('a look asks for a thousand rows at a time, a hundred of a destination, then for the next time', async () => {
  const pages = [
    { ours: [refOf(1), refOf(2)], left: [refOf(3)], last: refOf(3), isEnd: false },
    { ours: [refOf(2)], last: refOf(4) },
  ];
  const { feed, requests, nextAsked, clock, state, ready, metrics } = feeding(pages);
  state.next = 777;
  const now = clock.steady();
  let isOther = false;
  setImmediate(() => (isOther = true));
  expect(await feed.look()).toBe(777);
  const request = { owner: 'me', now, limit: 1_000, most: 100, without: NOTHING_FULL };
  expect(requests).toEqual([
    { ...request, after: null },
    { ...request, after: refOf(3) },
  ]);
  expect(nextAsked).toEqual([now]);
  // What was known already makes nothing ready; other work has run between the pages.
  expect([ready, isOther]).toEqual([['x.example 2', 'x.example 2', 'x.example 2'], true]);
  const text = await metrics.render();
  expect(text).toContain('postrider_claim_seconds_sum{step="take"} 3\n');
  expect(text).toContain('postrider_claim_seconds_count{step="take"} 2\n');
});

test('each page of a look leaves out what has become full by the one before', async () => {
  const ours = Array.from({ length: 401 }, (_, at) => refOf(at + 1));
  const { feed, requests } = feeding([{ ours, last: refOf(401), isEnd: false }]);
  await feed.look();
  expect(requests.map(({ after, without }) => [after, without])).toEqual([
    [null, NOTHING_FULL],
    [refOf(401), { accountIds: [], destinations: [{ accountId: 'a', domain: 'x.example' }] }],
  ]);
});

test('looks go on where the last one ended, and begin anew every ten minutes or when they are asked to', async () => {
  const last = (number: number) => ({ last: refOf(number) });
  const { lookAt, feed } = feeding([last(10), last(20), {}, last(30), last(40)]);
  expect(await lookAt(0)).toEqual([null]);
  expect(await lookAt(MINUTE)).toEqual([10]);
  expect(await lookAt(10 * MINUTE - 1)).toEqual([20]);
  expect(await lookAt(10 * MINUTE + 5_000)).toEqual([null]);
  feed.lookAnew();
  expect(await lookAt(11 * MINUTE)).toEqual([null]);
  expect(await lookAt(12 * MINUTE)).toEqual([40]);
  // Ten minutes from the last one that began anew.
  expect(await lookAt(21 * MINUTE - 1)).toEqual([40]);
  expect(await lookAt(21 * MINUTE + 2_000)).toEqual([null]);
});

test('exactly ten minutes after it began anew a look does so again', async () => {
  const { lookAt } = feeding([{ last: refOf(10) }]);
  expect(await lookAt(0)).toEqual([null]);
  expect(await lookAt(10 * MINUTE)).toEqual([null]);
});

test('beside other nodes a look begins 3 s before the last position, and never falls behind it', async () => {
  const pages = [
    { last: refOf(10_000), isEnd: false },
    { last: refOf(12_000) },
    { last: refOf(11_000) },
    { last: refOf(12_000, 'later') },
  ];
  const { lookAt, requests } = feeding(pages, true);
  expect(await lookAt(0)).toEqual([null, 10_000]);
  expect(await lookAt(4_000)).toEqual([9_000]);
  expect(await lookAt(8_000)).toEqual([9_000]);
  expect(await lookAt(12_000)).toEqual([9_000]);
  expect(requests.at(-1)?.after).toEqual({ ...refOf(9_000), id: 'later' });
});

test('a queue that stops ends a long look after a page', async () => {
  const { feed, requests, state, nextAsked } = feeding([{ isEnd: false }, { isEnd: false }]);
  state.isRunning = false;
  await feed.look();
  expect([requests.length, nextAsked.length]).toEqual([1, 1]);
});

test('after a failure the next look begins anew, whichever question failed', async () => {
  const { lookAt, state } = feeding([{ last: refOf(10) }, new Error('gone'), { last: refOf(20) }]);
  expect(await lookAt(0)).toEqual([null]);
  const failed = (atMs: number) => lookAt(atMs).catch((error: Error) => error.message);
  expect(await failed(2_000)).toBe('gone');
  expect(await lookAt(4_000)).toEqual([null]);
  expect(await lookAt(6_000)).toEqual([20]);
  state.next = new Error('away');
  expect(await failed(8_000)).toBe('away');
  state.next = null;
  expect(await lookAt(10_000)).toEqual([null]);
});

test('a filling asks for as many as the line has space for, from where the last one ended', async () => {
  const { waiting, requests, fill, feed, state, clock, ready } = feeding([
    { ours: [refOf(2), refOf(3)], isEnd: false },
  ]);
  const destination = waiting.add(refOf(1));
  if (destination === null) throw new Error('no destination');
  state.isRunning = false;
  feed.fill(destination);
  expect([destination.isFilling, requests]).toEqual([false, []]);
  state.isRunning = true;
  const now = clock.steady();
  feed.fill(destination);
  await fill(destination);
  expect(requests).toEqual([
    {
      owner: 'me',
      now,
      limit: 499,
      after: null,
      most: 499,
      without: NOTHING_FULL,
      of: destination,
    },
  ]);
  expect([destination.hasMore, destination.filledTo, ready]).toEqual([
    true,
    refOf(3),
    ['x.example 3'],
  ]);
  await fill(destination);
  expect(requests[1]).toMatchObject({ after: refOf(3), limit: 497, most: 497 });
  expect(destination.hasMore).toBe(false);
});

test('the row that fills a line, or its account, is where the next filling begins', async () => {
  for (const [count, hasMore, filledTo] of [
    [498, false, 498],
    [499, true, 498],
  ] as const) {
    const ours = Array.from({ length: count }, (_, at) => refOf(at + 1));
    const { waiting, fill } = feeding([{ ours }]);
    const destination = waiting.add(refOf(0));
    await fill(destination);
    expect([destination?.line.length, destination?.hasMore, destination?.filledTo]).toEqual([
      count + 1,
      hasMore,
      refOf(filledTo),
    ]);
  }
});

test('a filling for an account without capacity takes nothing of it and goes on when there is some', async () => {
  const { waiting, fill, requests } = feeding([{ ours: [refOf(2), refOf(3)] }]);
  const destination = waiting.add(refOf(1));
  for (let at = 0; !waiting.isFullFor('a'); at += 1) {
    const domain = `d${Math.floor(at / 500)}.example`;
    waiting.add({ ...refOf(1), id: `more${at}`, domain });
  }
  await fill(destination);
  expect(requests[0]?.without).toEqual({ accountIds: ['a'], destinations: [] });
  expect([destination?.line.length, destination?.hasMore, destination?.filledTo]).toEqual([
    1,
    true,
    null,
  ]);
});

test('a filling that fails is logged, and the next look begins anew', async () => {
  const { waiting, fill, lookAt, lines, ready } = feeding([
    { last: refOf(10) },
    new Error('no such table'),
  ]);
  await lookAt(0);
  const destination = waiting.add(refOf(1));
  await fill(destination);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      level: 'error',
      event: 'queue_read_failed',
      error: { message: 'no such table' },
      hint: 'The store could not be read; the queue looks again by itself.',
    },
  ]);
  expect([destination?.isFilling, ready]).toEqual([false, ['x.example 1']]);
  expect(await lookAt(4_000)).toEqual([null]);
});

test('after a filling a destination without anything may be forgotten', async () => {
  const { waiting, fill } = feeding([]);
  for (let at = 0; at <= 2_000; at += 1) {
    waiting.add({ ...refOf(1), id: `other${at}`, domain: `d${at}.example` });
  }
  const destination = waiting.add(refOf(1));
  if (destination === null) throw new Error('no destination');
  waiting.release(waiting.take(destination)?.id ?? '');
  await fill(destination);
  expect(waiting.add(refOf(1))).not.toBe(destination);
});
