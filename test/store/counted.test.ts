/** What is counted, and in which sum, by table. */
import { expect, test } from 'bun:test';

import type { EventType } from '../../src/base/status.ts';
import {
  COUNTED_TYPES,
  dayOf,
  harmOf,
  harmfulMessage,
  hourOf,
  isCounted,
  isReal,
  outcomeSumOf,
} from '../../src/store/counted.ts';
import type { Outcomes } from '../../src/store/counters.ts';
import { newId } from '../rig/ids.ts';

const HOUR = 3_600_000;

test('days and hours begin on the whole, in UTC', () => {
  expect([dayOf(0), dayOf(24 * HOUR - 1), dayOf(24 * HOUR)]).toEqual([0, 0, 1]);
  expect([hourOf(0), hourOf(HOUR - 1), hourOf(HOUR), hourOf(25 * HOUR)]).toEqual([0, 0, 1, 25]);
});

const EVENTS: [type: EventType, outcome: keyof Outcomes | null][] = [
  ['email.delivered', 'delivered'],
  ['email.delivery_delayed', 'delayed'],
  ['email.bounced', 'bounced'],
  ['email.complained', 'complained'],
  ['email.failed', 'failed'],
  ['email.sent', null],
  ['email.queued', null],
  ['email.suppressed', null],
];

test('five events are counted, each as one thing', () => {
  for (const [type, outcome] of EVENTS) {
    const event = { accountId: 'a', type, occurredAt: HOUR, domain: 'x.org', host: null };
    expect(outcomeSumOf(event)?.outcome ?? null).toBe(outcome);
    expect(isCounted(type)).toBe(outcome !== null);
    expect(COUNTED_TYPES.includes(type)).toBe(outcome !== null);
  }
});

test('the sum goes by the hour, the recipient’s domain and the host of the last attempt', () => {
  const event = { accountId: 'a', type: 'email.bounced', occurredAt: 2 * HOUR + 5 } as const;
  const host = 'gmail-smtp-in.l.google.com';
  expect(outcomeSumOf({ ...event, domain: 'gmail.com', host })).toEqual({
    hour: 2,
    destination: 'gmail',
    provider: 'Gmail',
    outcome: 'bounced',
  });
  expect(outcomeSumOf({ ...event, domain: 'x.org', host })).toMatchObject({
    destination: 'other',
    provider: 'Gmail',
  });
  expect(outcomeSumOf({ ...event, domain: 'x.org', host: null })?.provider).toBe('');
});

test('mail of sandbox keys, and to simulated recipients, is not real', () => {
  expect(isReal(false, 'x.org')).toBe(true);
  expect(isReal(true, 'x.org')).toBe(false);
  expect(isReal(false, 'sandbox.test')).toBe(false);
});

test('a hard bounce or complaint that names a message is harm of it', () => {
  const source = newId(0);
  expect(harmfulMessage({ reason: 'hard_bounce', source })).toBe(source);
  expect(harmfulMessage({ reason: 'complaint', source })).toBe(source);
  for (const reason of ['manual', 'unsubscribe'] as const) {
    expect(harmfulMessage({ reason, source })).toBeNull();
  }
  expect(harmfulMessage({ reason: 'hard_bounce', source: null })).toBeNull();
  expect(harmfulMessage({ reason: 'hard_bounce', source: 'list.csv' })).toBeNull();
  expect(harmOf({ reason: 'hard_bounce' })).toEqual({ hardBounces: 1, complaints: 0 });
  expect(harmOf({ reason: 'complaint' })).toEqual({ hardBounces: 0, complaints: 1 });
});
