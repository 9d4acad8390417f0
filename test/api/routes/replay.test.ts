/** Replays of single events. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  key = await bench.key(await bench.account('hooks', 'fast'));
});
afterAll(() => bench.close());

test('an event that an endpoint never had cannot be replayed', async () => {
  const made = await bench.ask({
    path: '/webhooks',
    key,
    body: { endpoint: 'https://8.8.8.8/hook' },
  });
  expect(made.status).toBe(201);
  const event = '01913c7e-89ab-7cde-8f01-23456789abcd';
  const path = `/webhooks/${made.json.id}/events/${event}/replay`;
  const replayed = await bench.ask({ path, key, method: 'POST' });
  expect([replayed.status, replayed.json.code]).toEqual([404, 'not_found']);
});
