/**
 * The sentence over an email: never "delivered" alone while a recipient waits, was refused or was left out.
 */
import { expect, test } from 'bun:test';

import { MESSAGE_STATUSES, type MessageStatus } from '../../../src/base/status.ts';
import { headlineOf } from '../../../src/dashboard/pages/email-headline.ts';

const WAITING: ReadonlySet<MessageStatus> = new Set(['queued', 'delivery_delayed']);

function of(...statuses: MessageStatus[]): { words: string; tone: string } {
  return headlineOf(
    statuses.map((status) => ({ status, nextAttemptAt: WAITING.has(status) ? 1 : null })),
  );
}

test('says what became of one recipient, and of all', () => {
  expect(of('delivered')).toEqual({ words: 'Delivered', tone: 'good' });
  expect(of('delivered', 'delivered')).toEqual({
    words: 'Delivered to all 2 recipients',
    tone: 'good',
  });
  expect(of('delivery_delayed').words).toContain('Not delivered yet');
  expect(of('bounced').tone).toBe('bad');
});

test('counts recipients with different fates, the worst first', () => {
  expect(of('delivered', 'queued', 'bounced', 'delivered')).toEqual({
    words: 'Of 4 recipients: 1 bounced, 1 still being tried, 2 delivered',
    tone: 'bad',
  });
});

test('never says delivered first while anyone does not have it', () => {
  const others = MESSAGE_STATUSES.filter(
    (status) => status !== 'delivered' && status !== 'complained',
  );
  for (const other of others) {
    const { words, tone } = of('delivered', 'delivered', other);
    expect([other, words.startsWith('Of 3 recipients: 1 ')]).toEqual([other, true]);
    if (other !== 'sent') expect([other, tone]).not.toEqual([other, 'good']);
  }
});

test('a recipient that a crash left without a time still counts as waiting', () => {
  expect(headlineOf([{ status: 'queued', nextAttemptAt: null }]).words).toContain(
    'Not delivered yet',
  );
});
