/** The bounds of an endpoint's queue at and one beyond, what a drop forgets, and what is said of an attempt. */
import { expect, test } from 'bun:test';
import {
  EndpointQueues,
  endPost,
  startPost,
  type EndpointQueue,
} from '../../../src/flow/webhooks/endpoint-queues.ts';
import { errorOf } from '../../../src/flow/webhooks/post.ts';
import { nextStep, waitMs } from '../../../src/flow/webhooks/schedule.ts';
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
  expect(queues.countKnownOfShortQueues()).toBe(99);
  expect([queues.beginLook(), queue.hasMore]).toEqual([[], false]);
});

test('all queues together keep 100,000 calls', () => {
  const queues = new EndpointQueues();
  for (let n = 0; n < 200; n += 1) expect(fill(queues, 500, `e${n}`)).toBe(500);
  expect([queues.isFull, fill(queues, 1, 'late')]).toEqual([true, 0]);
  queues.drop('e0');
  expect([queues.isFull, fill(queues, 1, 'late')]).toEqual([false, 1]);
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
