/** The status of a message with several recipients: the newest while one is open, then the worst (docs/decisions.md D32). */
import { expect, test } from 'bun:test';

import { isFinal, MESSAGE_STATUSES, WEBHOOK_EVENTS, messageStatus } from '../../src/base/status.ts';

const WORST_FIRST = ['complained', 'bounced', 'failed', 'delivered', 'sent', 'suppressed'] as const;

test('of two that have ended the worse one shows, in whichever order', () => {
  for (const [at, worse] of WORST_FIRST.entries()) {
    for (const better of WORST_FIRST.slice(at)) {
      expect([worse, better, messageStatus([worse, better], false, better)]).toEqual([
        worse,
        better,
        worse,
      ]);
      expect(messageStatus([better, worse, better], false, better)).toBe(worse);
    }
  }
});

test('while one is open the newest shows, whatever the others ended with', () => {
  expect(messageStatus(['bounced', 'queued'], true, 'delivery_delayed')).toBe('delivery_delayed');
  expect(messageStatus([], false, 'queued')).toBe('queued');
  expect(messageStatus(['bounced'], false, 'delivered')).toBe('bounced');
});

test('nothing more is tried after five of the states; what a smarthost took may still be delivered', () => {
  expect(MESSAGE_STATUSES.filter(isFinal)).toEqual([
    'delivered',
    'bounced',
    'complained',
    'failed',
    'suppressed',
  ]);
  expect(MESSAGE_STATUSES.filter((status) => !isFinal(status))).toEqual([
    'queued',
    'sent',
    'delivery_delayed',
  ]);
});

test('a message whose recipients are all suppressed shows that, whatever came last', () => {
  expect(messageStatus(['suppressed', 'suppressed'], false, 'queued')).toBe('suppressed');
});

test('an endpoint may subscribe to eight events, and a message is in one of eight states', () => {
  // docs/contract.md C12.4
  expect([...WEBHOOK_EVENTS]).toEqual([
    'email.sent',
    'email.delivered',
    'email.bounced',
    'email.complained',
    'email.failed',
    'email.delivery_delayed',
    'email.opened',
    'email.clicked',
  ]);
  expect(MESSAGE_STATUSES).toHaveLength(8);
  expect(new Set(MESSAGE_STATUSES).size).toBe(8);
});
