/** What a replay may ask for. */
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

test.each([
  [{}, 'event_id', 'Send either event_id or since.'],
  [
    { event_id: '01913c7e-89ab-7cde-8f01-23456789abcd', since: '2026-11-21T09:30:00Z' },
    'event_id',
    'Send either event_id or since.',
  ],
  [{ event_id: 'evt_1' }, 'event_id', 'event_id must be the id of an event.'],
  ...['2026-11-21', '2026', '-5', 'yesterday', '11/21/2026', '2026-13-41T99:00:00Z', ''].map(
    (since): [object, string, string] => [
      { since },
      'since',
      'since must be a time in ISO 8601, such as 2026-11-21T09:30:00Z.',
    ],
  ),
])('%j is refused', async (body, path, message) => {
  const made = await bench.ask({ path: '/webhooks', key });
  const { status, json } = await bench.ask({
    path: `/webhooks/${made.json.data[0].id}/replay`,
    key,
    body,
  });
  expect([status, json.detail]).toEqual([422, { issues: [{ path, message }] }]);
});

test.each(['2026-11-21T09:30:00Z', '2026-11-21T09:30:00.123+02:00'])('since %s', async (since) => {
  const { json } = await bench.ask({ path: '/webhooks', key });
  const { id } = json.data[0];
  const replayed = await bench.ask({ path: `/webhooks/${id}/replay`, key, body: { since } });
  expect(replayed.json).toEqual({ id, replayed: 0 });
});
