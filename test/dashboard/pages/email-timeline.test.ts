/**
 * The story of an email: in order, each reason once, an event with the attempt that raised it, its webhook calls, and
 * what comes next; bounded, however long it was.
 */
import { expect, test } from 'bun:test';

import { timelineOf, type Story } from '../../../src/dashboard/pages/email-timeline.ts';
import type { Attempt, Event, Recipient } from '../../../src/store/rows.ts';
import { newMessage } from '../../store/samples.ts';

const { message, recipients } = newMessage('account-1');
const [first] = recipients as [Recipient];
const waiting: Recipient = {
  ...first,
  status: 'delivery_delayed',
  attempts: 2,
  nextAttemptAt: 5000,
};

function attempt(number: number, reply: string, outcome: Attempt['outcome'] = 'deferred'): Attempt {
  return {
    id: `attempt-${number}`,
    messageId: message.id,
    recipientId: first.id,
    number,
    beganAt: number * 1000,
    endedAt: number * 1000 + 7,
    outcome,
    class: outcome === 'deferred' ? 'mailbox_full' : null,
    stage: 'rcpt',
    host: 'mx.receiver.example',
    address: '192.0.2.1',
    tls: JSON.stringify({ version: 'TLSv1.3', cipher: 'x', verified: true, policy: 'dane' }),
    reply,
    mayBeDuplicate: false,
  };
}

function event(type: Event['type'], payload: Record<string, unknown>): Event {
  return {
    id: `event of ${type}`,
    messageId: message.id,
    accountId: message.accountId,
    recipientId: first.id,
    type,
    occurredAt: 2007,
    payload: JSON.stringify({ recipient: first.address, ...payload }),
  };
}

function told(story: Partial<Story>): string {
  const whole = {
    message,
    recipients: [waiting],
    attempts: [],
    events: [],
    calls: [],
    keyName: null,
    reasons: [],
  };
  return timelineOf({ ...whole, ...story })
    .toString()
    .replace(/\s+/g, ' ');
}

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

test('a reply is said once, however often it came', () => {
  const attempts = [attempt(1, '452 4.2.2 full'), attempt(2, '452 4.2.2 full')];
  expect(occurrences(told({ attempts }), '452 4.2.2 full')).toBe(1);
  const reasons = ['mx.receiver.example replied 452 4.2.2 full at RCPT TO'];
  expect(occurrences(told({ attempts, reasons }), '452 4.2.2 full')).toBe(0);
});

test('attempts with the same end are one entry, each of them one click away', () => {
  const attempts = [1, 2, 3, 4].map((number) => attempt(number, '452 4.2.2 full'));
  const other = attempt(5, '451 4.3.0 later');
  const text = told({ attempts: [...attempts, other, attempt(6, '452 4.2.2 full')] });
  // Accepted, the four, the other, the one behind it, the next: what lies between is not left out.
  expect(occurrences(text, '<li class=')).toBe(5);
  expect(text).toContain('Not now, 4 times');
  expect(text).toContain('Attempts 1 to 4, mx.receiver.example');
  expect(occurrences(text, '<li>')).toBe(4);
  expect(text).toContain('The mailbox is full.');
});

test('with several recipients each entry says whom it is about', () => {
  const second: Recipient = { ...first, id: 'second', address: 'two@receiver.example' };
  const text = told({ recipients: [waiting, second], attempts: [attempt(1, '452 4.2.2 full')] });
  expect(text).toContain(`${first.address}: not now`);
  expect(told({ attempts: [attempt(1, '452 4.2.2 full')] })).not.toContain(first.address);
});

test('an event stands with the attempt that raised it, with its webhook calls', () => {
  const delayed = event('email.delivery_delayed', {
    attempt: 2,
    stage: 'rcpt',
    reply: '452 4.2.2 full',
  });
  const calls = [
    {
      id: 'call-1',
      eventId: delayed.id,
      endpointId: 'endpoint-1',
      url: 'https://hook.example/in',
      status: 'done',
      attempts: 3,
      nextAttemptAt: null,
    } as const,
  ];
  const text = told({ attempts: [attempt(2, '452 4.2.2 full')], events: [delayed], calls });
  expect(occurrences(text, '<li')).toBe(3);
  expect(text).toContain('mx.receiver.example [192.0.2.1], TLSv1.3, certificate verified (dane)');
  expect(text).toMatch(
    /email\.delivery_delayed.*webhooks\/endpoint-1.*https:\/\/hook\.example\/in.*after 3 attempts/,
  );
  expect(text).toContain('Attempt 3 is next');
});

test('what a report or an operator did stands alone', () => {
  const bounced = event('email.bounced', { via: 'report', reply: '550 5.1.1 gone' });
  const text = told({
    recipients: [{ ...waiting, status: 'bounced', nextAttemptAt: null }],
    events: [bounced],
  });
  expect(text).toContain('A report of the receiver came back.');
  expect(text).toContain('550 5.1.1 gone');
  expect(text).not.toContain('is next');
});

test('of a long story beginning and end are shown', () => {
  const attempts = Array.from({ length: 5000 }, (_, at) => attempt(at + 1, `451 try ${at + 1}.`));
  const text = told({ attempts });
  expect(text.length).toBeLessThan(90_000);
  for (const part of [
    '451 try 1.',
    '451 try 5000.',
    '4881 entries not shown',
    'Attempt 3 is next',
  ]) {
    expect(text).toContain(part.replace('4881', '4,881'));
  }
});

test('that it was accepted is said once, whatever events say it too', () => {
  const queued: Event = { ...event('email.queued', {}), recipientId: null };
  const entries = (story: Partial<Story>): number => occurrences(told(story), '<li class=');
  expect(entries({ events: [queued] })).toBe(entries({}));
});
