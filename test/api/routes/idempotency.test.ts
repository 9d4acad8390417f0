/** The length of an idempotency key: 1 to 256 characters. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openBench, type Bench } from '../bench.ts';

let bench: Bench;
let key: string;

beforeAll(async () => {
  bench = await openBench();
  key = await bench.key(await bench.account('sender'), 'sending_access', true);
});
afterAll(() => bench.close());

test.each([
  [0, 400],
  [1, 202],
  [256, 202],
  [257, 400],
])('%p characters: %p', async (length, status) => {
  const body = { from: 'a@own.example', to: 'b@example.net', subject: 's', text: 't' };
  const headers = { 'Idempotency-Key': 'k'.repeat(length) };
  const sent = await bench.ask({ path: '/email/send', key, body, headers });
  expect(sent.status).toBe(status);
  if (status === 400) expect(sent.json.name).toBe('invalid_idempotency_key');
  // The same again is answered from the record, whatever the length.
  const again = await bench.ask({ path: '/email/send', key, body, headers });
  expect(again.headers.get('idempotent-replayed')).toBe(status === 202 ? 'true' : null);
});
