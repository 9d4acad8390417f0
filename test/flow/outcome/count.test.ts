/** The label `destination`: one closed list, the same for what was attempted and for what waits. */
import { expect, test } from 'bun:test';

import { Metrics } from '../../../src/base/metrics.ts';
import { countAttempt } from '../../../src/flow/outcome/count.ts';
import { destinationKind } from '../../../src/base/destination-kind.ts';
import type { Attempt } from '../../../src/store/rows.ts';

const ATTEMPT: Attempt = {
  id: 'a',
  messageId: 'm',
  recipientId: 'r',
  number: 1,
  beganAt: 1_000,
  endedAt: 2_000,
  outcome: 'delivered',
  class: null,
  stage: 'dot',
  host: 'mx.example.com',
  address: '192.0.2.1',
  tls: null,
  reply: '250 ok',
  mayBeDuplicate: false,
};

test('an attempt is counted under the word by which its recipient waited', async () => {
  const metrics = new Metrics();
  const kinds = ['gmail', 'gmail', 'microsoft', 'yahoo', 'apple', 'other'];
  const domains = ['gmail.com', 'googlemail.com', 'live.com', 'aol.com', 'me.com', 'example.com'];
  for (const domain of domains) {
    const message = { createdAt: 500 };
    const ended = { message, recipient: { domain }, beganAt: 1_000, endedAt: 2_000 };
    countAttempt(metrics, ended, { attempt: ATTEMPT });
  }
  expect(domains.map(destinationKind)).toEqual(kinds);
  const lines = (await metrics.render()).split('\n');
  const counted = lines.filter((line) => line.startsWith('postrider_attempts_total{'));
  const expected = Array.from(new Set(kinds), (kind) => {
    const count = kinds.filter((one) => one === kind).length;
    return `postrider_attempts_total{outcome="delivered",class="none",destination="${kind}"} ${count}`;
  });
  expect(counted).toEqual(expected);
});

test('an attempt lasts from its beginning, a delivery from the acceptance, and only a delivery counts as one', async () => {
  const metrics = new Metrics();
  const ended = { recipient: { domain: 'example.com' }, beganAt: 61_000, endedAt: 63_000 };
  const message = { createdAt: 1_000 };
  countAttempt(metrics, { ...ended, message }, { attempt: ATTEMPT });
  countAttempt(metrics, { ...ended, message }, { attempt: { ...ATTEMPT, outcome: 'deferred' } });
  const lines = (await metrics.render()).split('\n');
  expect(lines.filter((line) => /^postrider_(attempt|delivery)_seconds_sum/.test(line))).toEqual([
    'postrider_attempt_seconds_sum{outcome="delivered"} 2',
    'postrider_attempt_seconds_sum{outcome="deferred"} 2',
    'postrider_delivery_seconds_sum 62',
  ]);
});

test('an end without an attempt is not counted', async () => {
  const metrics = new Metrics();
  const ended = { message: { createdAt: 0 }, recipient: { domain: 'x' }, beganAt: 0, endedAt: 0 };
  countAttempt(metrics, ended, { attempt: null });
  expect(await metrics.render()).not.toContain('postrider_attempts_total{');
});

test('what was handed to a relay or refused is counted by its outcome and is no delivery, and no time is negative', async () => {
  const metrics = new Metrics();
  const ended = { message: { createdAt: 9_000 }, recipient: { domain: 'example.com' } };
  // The wall clock was set back during the attempt.
  const times = { beganAt: 5_000, endedAt: 4_000 };
  for (const outcome of ['sent', 'failed', 'delivered'] as const)
    countAttempt(metrics, { ...ended, ...times }, { attempt: { ...ATTEMPT, outcome } });
  const lines = (await metrics.render()).split('\n');
  const shown = /^postrider_(attempts_total|(attempt|delivery)_seconds_(sum|count))[ {]/;
  expect(lines.filter((line) => shown.test(line)).toSorted()).toEqual([
    'postrider_attempt_seconds_count{outcome="delivered"} 1',
    'postrider_attempt_seconds_count{outcome="failed"} 1',
    'postrider_attempt_seconds_count{outcome="sent"} 1',
    'postrider_attempt_seconds_sum{outcome="delivered"} 0',
    'postrider_attempt_seconds_sum{outcome="failed"} 0',
    'postrider_attempt_seconds_sum{outcome="sent"} 0',
    'postrider_attempts_total{outcome="delivered",class="none",destination="other"} 1',
    'postrider_attempts_total{outcome="failed",class="none",destination="other"} 1',
    'postrider_attempts_total{outcome="sent",class="none",destination="other"} 1',
    'postrider_delivery_seconds_count 1',
    'postrider_delivery_seconds_sum 0',
  ]);
});
