/** The window of an endpoint's queue: how many of its calls may be claimed at once. */
import { expect, test } from 'bun:test';

import {
  CONCURRENCY,
  EndpointQueues,
  noteResult,
} from '../../../src/flow/webhooks/endpoint-queues.ts';

const MAX_WINDOW = 16;

test('the window grows while the endpoint acknowledges, and falls back at the first failure', () => {
  const queues = new EndpointQueues();
  const queue = queues.of('endpoint');
  for (let n = 0; n < 50; n += 1) {
    queues.add({ id: `call ${n}`, endpointId: 'endpoint', dueAt: n });
  }
  expect(queues.claim(100)).toHaveLength(CONCURRENCY);
  const windows: number[] = [];
  for (const isGood of [true, true, true, false, true, false, false]) {
    noteResult(queue, isGood);
    windows.push(queue.window);
  }
  expect(windows).toEqual([
    2 * CONCURRENCY,
    MAX_WINDOW,
    MAX_WINDOW,
    CONCURRENCY,
    2 * CONCURRENCY,
    CONCURRENCY,
    CONCURRENCY,
  ]);
  // With a window that has fallen back nothing more is claimed beside what is.
  expect(queues.claim(100)).toEqual([]);
  noteResult(queue, true);
  expect(queues.claim(100)).toHaveLength(CONCURRENCY);
});
