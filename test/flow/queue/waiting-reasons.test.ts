/** Recipients that wait for one reason are one group, whatever ids and addresses the replies hold. */
import { expect, test } from 'bun:test';
import { commonReason, waitingReasons } from '../../../src/flow/queue/waiting-reasons.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { bestOf } from '../../rig/best-of.ts';

const waits = (
  lastReason: string | null,
  nextAttemptAt = 1,
  address = 'a@b.example',
): Recipient => ({
  id: 'r',
  messageId: 'm',
  accountId: 'x',
  address,
  domain: 'b.example',
  kind: 'to',
  status: 'delivery_delayed',
  attempts: 1,
  nextAttemptAt,
  expiresAt: 9,
  lastReason,
  delayedAt: null,
  updatedAt: 0,
});

test('groups count, show one text as it is, and the soonest next attempt', () => {
  const rows = [
    waits(null, 5),
    waits('mx1.b.example [192.0.2.1] said: 451 4.7.1 Greylisted, id 7f3a9c12', 30),
    waits('mx1.b.example [192.0.2.77] said: 451 4.7.1 Greylisted, id 99e0b1aa', 20),
    waits('mx1.b.example [192.0.2.1] said: 452 4.2.2 Mailbox full', 10),
    waits('mx1.b.example [192.0.2.1] said: 451 4.7.1 Greylisted, id 11e0b1aa', 40),
    {
      ...waits('mx1.b.example [192.0.2.1] said: 451 4.7.1 Greylisted, id 22e0b1aa'),
      nextAttemptAt: null,
    },
  ];
  expect(waitingReasons(rows)).toEqual([
    { reason: rows[1]?.lastReason ?? '', count: 4, nextAttemptAt: 20 },
    { reason: null, count: 1, nextAttemptAt: 5 },
    { reason: rows[3]?.lastReason ?? '', count: 1, nextAttemptAt: 10 },
  ]);
});

test('codes tell reasons apart, the recipient and its particulars do not', () => {
  const one = commonReason(
    waits('<c@b.example>: 550 5.7.509 denied at 2026-11-22', 1, 'c@b.example'),
  );
  const other = commonReason(
    waits('<d@b.example>: 550 5.7.509 denied at 2026-11-23', 1, 'd@b.example'),
  );
  expect(one).toBe(other);
  expect(one).toContain('550 5.7.509 denied');
  expect(commonReason(waits('550 5.7.1 denied'))).not.toBe(commonReason(waits('550 5.1.1 denied')));
});

test.each([
  ['queued as abcde1', 'queued as …'],
  ['queued as abcd1', 'queued as abcd1'],
  ['try again after 12:34:56', 'try again after …'],
  ['550 5.100.1 denied', '550 5.100.1 denied'],
  ['550 5.7.509.1 denied', '550 … denied'],
  ['no a@b.example, a@b.example is unknown', 'no …, … is unknown'],
])('of %p is common: %p', (reason, common) => {
  expect(commonReason(waits(reason))).toBe(common);
});

test('takes time by the length of the text', async () => {
  const timeOf = (length: number): number => {
    const row = waits(`${'a'.repeat(length)} ${'1:'.repeat(length)}`);
    const best = Array.from({ length: 5 }, () => {
      const beganAt = performance.now();
      commonReason(row);
      return performance.now() - beganAt;
    });
    return Math.min(...best);
  };
  timeOf(20_000);
  // Quadratic work would take 100 times as long.
  const times = (): number => timeOf(200_000) / Math.max(timeOf(20_000), 0.5);
  expect(await bestOf(39, times)).toBeLessThan(40);
});
