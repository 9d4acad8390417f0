/** The bounds of an endpoint's queue at and one beyond, what a drop forgets, and what is said of an attempt. */
import { expect, test } from 'bun:test';
import {
  CONCURRENCY,
  EndpointQueues,
  endPost,
  startPost,
  type EndpointQueue,
} from '../../../src/flow/webhooks/endpoint-queues.ts';
import { errorOf, RECEIPT_TIMEOUT_MS } from '../../../src/flow/webhooks/post.ts';
import { MAX_ATTEMPTS, nextStep, waitMs } from '../../../src/flow/webhooks/schedule.ts';
import { signatureHeaders } from '../../../src/flow/webhooks/signing.ts';

const call = (n: number, endpointId = 'e') => ({ id: `${endpointId} ${n}`, endpointId, dueAt: n });
const fill = (queues: EndpointQueues, count: number, endpointId = 'e') =>
  Array.from({ length: count }, (_, n) => queues.add(call(n, endpointId))).filter(Boolean).length;

test('a queue takes 500 calls, says that the store has more, and wants them below 100', () => {
  const queues = new EndpointQueues();
  expect(fill(queues, 501)).toBe(500);
  const queue = queues.of('e');
  expect([queue.hasMore, queues.needsRefill(), queues.beginLook()]).toEqual([true, false, ['e']]);
  queue.ready.splice(0, 400);
  expect(queues.needsRefill()).toBe(false);
  queue.ready.splice(0, 1);
  expect(queues.needsRefill()).toBe(true);
  expect([queues.beginLook(), queue.hasMore]).toEqual([[], false]);
});

test('a queue that was dropped wants nothing more of the store', () => {
  const queues = new EndpointQueues();
  expect(fill(queues, 501)).toBe(500);
  const [ref] = queues.claim(1);
  queues.drop('e');
  const { hasMore, ready, claimed } = queues.of('e');
  expect([hasMore, ready.length, claimed, queues.needsRefill()]).toEqual([false, 0, 1, false]);
  // What is claimed may still be named by a look: it is not taken twice.
  expect([ref === undefined || queues.add(ref), queues.beginLook()]).toEqual([false, []]);
});

test('all queues together keep 100,000 calls', () => {
  const queues = new EndpointQueues();
  for (let n = 0; n < 200; n += 1) expect(fill(queues, 500, `e${n}`)).toBe(500);
  expect([queues.isFull, fill(queues, 1, 'late')]).toEqual([true, 0]);
  queues.drop('e0');
  expect([queues.isFull, fill(queues, 1, 'late')]).toEqual([false, 1]);
});

test('what is claimed, and what is dropped, leaves its slot to others', () => {
  const queues = new EndpointQueues();
  for (let n = 0; n < 200; n += 1) fill(queues, 500, `e${n}`);
  expect(queues.isFull).toBe(true);
  expect([queues.claim(3).length, queues.isFull, fill(queues, 5, 'late')]).toEqual([3, false, 3]);
  expect([queues.isFull, queues.of('late').hasMore]).toEqual([true, true]);
  // Half of all slots are in use: from there on short queues are filled again.
  for (let n = 0; n < 100; n += 1) queues.drop(`e${n}`);
  queues.of('late').ready.splice(1);
  const seen = [0, 2, 1].map((count) => [queues.claim(count).length, queues.needsRefill()]);
  expect(seen).toEqual([
    [0, false],
    [2, false],
    [1, true],
  ]);
});

test('a claim takes one of each queue before a second of any, and begins with who was served longest ago', () => {
  const queues = new EndpointQueues();
  for (const name of ['a', 'b', 'c']) fill(queues, 6, name);
  const names = (limit: number): string =>
    queues
      .claim(limit)
      .map(({ id }) => id)
      .join(', ');
  expect([names(4), names(2), names(100), names(100)]).toEqual([
    'a 0, b 0, c 0, a 1',
    'b 1, c 1',
    'a 2, b 2, c 2, a 3, b 3, c 3',
    '',
  ]);
  queues.release(call(0, 'b'));
  expect([names(100), queues.of('b').claimed]).toEqual(['b 4', 4]);
});

test('a queue with a test, a claim or more in the store is kept, and forgotten with the last of them', () => {
  const queues = new EndpointQueues();
  const queue = queues.beginTest('e');
  if (queue === null) throw new Error('no test may begin');
  queues.add(call(0));
  const [claimed = call(0)] = queues.claim(1);
  queue.hasMore = true;
  queues.endTest(queue);
  expect(queues.of('e')).toBe(queue);
  queues.release(claimed);
  expect(queues.of('e')).toBe(queue);
  queue.hasMore = false;
  for (const _ of [1, 2]) expect(queues.beginTest('e')).toBe(queue);
  queues.endTest(queue);
  expect(queues.of('e')).toBe(queue);
  queues.endTest(queue);
  expect(queues.of('e')).not.toBe(queue);
});

test('a call is known until it is released or its queue is dropped', () => {
  const queues = new EndpointQueues();
  fill(queues, 6);
  const claimed = queues.claim(10);
  expect([claimed.length, fill(queues, 6)]).toEqual([4, 0]);
  queues.drop('e');
  // What is claimed is still under way.
  expect(fill(queues, 6)).toBe(2);
  for (const ref of claimed) queues.release(ref);
  expect(fill(queues, 6)).toBe(4);
});

test('an endpoint has four tests at once and all endpoints 64, and an idle queue is forgotten', () => {
  const queues = new EndpointQueues();
  const begin = (name: string, count: number): EndpointQueue[] =>
    Array.from({ length: count }, () => queues.beginTest(name)).filter((queue) => queue !== null);
  const first = begin('e', 5);
  expect(first).toHaveLength(4);
  for (let n = 0; n < 15; n += 1) expect(begin(`e${n}`, 4)).toHaveLength(4);
  expect(begin('other', 1)).toHaveLength(0);
  for (const queue of first) queues.endTest(queue);
  expect(begin('other', 5)).toHaveLength(4);
  expect(queues.of('e')).not.toBe(first[0]);
});

test('posts wait behind four, and the slot of one that ended goes to the next', async () => {
  const queue = new EndpointQueues().of('e');
  const begun: number[] = [];
  for (let n = 0; n < 6; n += 1) void startPost(queue).then(() => begun.push(n));
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  await tick();
  expect(begun).toEqual([0, 1, 2, 3]);
  endPost(queue);
  await tick();
  expect([begun.length, queue.posting]).toEqual([5, 4]);
  for (let n = 0; n < 5; n += 1) endPost(queue);
  await tick();
  expect([begun.length, queue.posting]).toEqual([6, 0]);
});

const responded = (statusCode: number, retryAfterSeconds: number | null = null) => ({
  kind: 'responded' as const,
  statusCode,
  retryAfterSeconds,
  excerpt: '',
  durationMs: 5,
});

test.each([
  [200, null],
  [299, null],
  [300, 'the endpoint answered with status 300; redirects are not followed'],
  [399, 'the endpoint answered with status 399; redirects are not followed'],
  [400, 'the endpoint answered with status 400'],
  [199, 'the endpoint answered with status 199'],
])('of status %p is said: %p', (statusCode, words) => {
  expect(errorOf(responded(statusCode))).toBe(words);
});

test('waits double from half a minute to an hour', () => {
  const seconds = Array.from({ length: 10 }, (_, at) => waitMs(at + 1, 0) / 1_000);
  expect(seconds).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
  expect(waitMs(1, 1)).toBe(33_000);
});

test.each([
  [503, 600, 1, 600_000],
  [429, 600, 1, 600_000],
  // Never sooner than the schedule, never later than a day, and only where it means something.
  [503, 10, 1, 30_000],
  [503, 86_400, 1, 86_400_000],
  [503, 86_401, 1, 86_400_000],
  [500, 600, 1, 30_000],
])(
  'status %p with Retry-After %p after attempt %p: again in %p ms',
  (code, asked, attempt, wait) => {
    expect(nextStep(responded(code, asked), attempt, 1_000, 0)).toEqual({
      status: 'open',
      nextAttemptAt: 1_000 + wait,
    });
  },
);

test('the tenth failure is the last, and a refusal of the request is at once', () => {
  const end = { status: 'failed', nextAttemptAt: null } as const;
  expect(nextStep(responded(500), 9, 0, 0).status).toBe('open');
  expect(nextStep(responded(500), 10, 0, 0)).toEqual(end);
  for (const code of [301, 400, 404, 410, 428, 499]) {
    expect(nextStep(responded(code), 1, 0, 0)).toEqual(end);
  }
});

test('the timestamp is in whole seconds, begun ones do not count', () => {
  const headers = signatureHeaders({ id: 'i', now: 1_999, body: '{}', secrets: ['whsec_AAAA'] });
  for (const name of ['webhook-timestamp', 'svix-timestamp', 'service-timestamp']) {
    expect(headers[name]).toBe('1');
  }
});

test('four posts at once, ten seconds for each, ten times (docs/contract.md C13.7 and C13.9)', () => {
  expect([CONCURRENCY, RECEIPT_TIMEOUT_MS, MAX_ATTEMPTS]).toEqual([4, 10_000, 10]);
});
