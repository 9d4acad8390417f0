/** The story of an email, from its acceptance to what comes next. */
import { timelineOf, type Story } from '../../../src/dashboard/pages/email-timeline.ts';
import type { Attempt, Event, Message, Recipient } from '../../../src/store/rows.ts';
import type { MessageCall } from '../../../src/store/webhooks.ts';
import { newMessage } from '../../store/samples.ts';
import { type Drawing, markup, NOW } from './page.ts';

const SAMPLE = newMessage('acc', { id: 'mail', logId: 'log', createdAt: NOW });
const message: Message = SAMPLE.message;

function recipient(id: string, change: Partial<Recipient> = {}): Recipient {
  const [base] = SAMPLE.recipients;
  if (base === undefined) throw new Error('no recipient');
  const address = `${id}@one.example`;
  const expiresAt = NOW + 172_800_000;
  return { ...base, id, address, nextAttemptAt: null, status: 'delivered', expiresAt, ...change };
}

function attempt(number: number, change: Partial<Attempt> = {}): Attempt {
  return {
    id: `attempt-${number}`,
    messageId: 'mail',
    recipientId: 'ann',
    number,
    beganAt: NOW + number * 60_000,
    endedAt: NOW + number * 60_000 + number,
    outcome: 'deferred',
    class: 'rate',
    stage: 'rcpt',
    host: 'mx.one.example',
    address: '192.0.2.1',
    tls: null,
    reply: '451 4.7.1 <Later>',
    mayBeDuplicate: false,
    ...change,
  };
}

function event(type: Event['type'], payload: object | null, change: Partial<Event> = {}): Event {
  return {
    id: `${type} ${change.occurredAt ?? 0}`,
    messageId: 'mail',
    accountId: 'acc',
    recipientId: 'ann',
    type,
    occurredAt: NOW + 60_001,
    payload: payload && JSON.stringify(payload),
    ...change,
  };
}

const call = (eventId: string, change: Partial<MessageCall> = {}): MessageCall => ({
  id: `call of ${eventId}`,
  eventId,
  endpointId: 'hook',
  url: 'https://hook.example/?a=<b>',
  status: 'done',
  attempts: 1,
  nextAttemptAt: null,
  ...change,
});

const told = (story: Partial<Story>): string =>
  markup(
    timelineOf({
      message,
      recipients: [recipient('ann')],
      attempts: [],
      events: [],
      calls: [],
      keyName: null,
      reasons: [],
      ...story,
    }),
  );
/** Of a long story the titles of its entries; how many follow each other that are the same. */
function titles(story: Partial<Story>): string {
  const found = told(story).matchAll(/<strong>(.*?)<\/strong>/g);
  const runs: [title: string, times: number][] = [];
  for (const [, title = ''] of found) {
    const last = runs.at(-1);
    if (last?.[0] === title) last[1] += 1;
    else runs.push([title, 1]);
  }
  return runs.map(([title, times]) => (times === 1 ? title : `${times} x ${title}`)).join('\n');
}

const QUEUED = event('email.queued', null, { recipientId: null, occurredAt: NOW });
const waiting = (id: string): Recipient =>
  recipient(id, { status: 'queued', nextAttemptAt: NOW + 300_000, attempts: 2 });
const many = (count: number): Attempt[] =>
  Array.from({ length: count }, (_, at) => attempt(at + 1, { reply: `451 try ${at + 1}.` }));

const delayed = (number: number): Event =>
  event(
    'email.delivery_delayed',
    { attempt: number, stage: 'rcpt', reply: '451 4.7.1 <Later>' },
    { occurredAt: NOW + number * 60_000 + number },
  );

const REPORT = event(
  'email.bounced',
  { via: 'report', reply: '550 5.1.1 Gone' },
  { occurredAt: NOW + 600_000 },
);

export const TIMELINE: readonly Drawing[] = [
  ['accepted alone', () => told({})],
  ['without request', () => told({ message: { ...message, logId: null } })],
  [
    'with key, calls of the acceptance, and two recipients',
    () =>
      told({
        keyName: 'shop "1"',
        recipients: [recipient('ann'), recipient('ben')],
        events: [QUEUED],
        calls: [call(QUEUED.id)],
      }),
  ],
  [
    'a key without request',
    () => told({ keyName: 'k', message: { ...message, logId: null }, events: [QUEUED] }),
  ],
  [
    'delayed three times, then delivered, then reported',
    () =>
      told({
        attempts: [
          attempt(1),
          attempt(2, { mayBeDuplicate: true }),
          attempt(3),
          attempt(4, { outcome: 'delivered', class: null, reply: '250 2.0.0 Ok', address: null }),
        ],
        events: [
          QUEUED,
          delayed(1),
          delayed(2),
          event('email.sent', { attempt: 4, reply: '250 2.0.0 Ok' }, { occurredAt: NOW + 240_004 }),
          event('email.delivered', { attempt: 4, stage: 'dot' }, { occurredAt: NOW + 240_004 }),
          REPORT,
        ],
        calls: [
          call(delayed(2).id, { status: 'open', attempts: 2, nextAttemptAt: NOW + 9_000 }),
          call(REPORT.id, { status: 'failed', attempts: 16 }),
        ],
      }),
  ],
  [
    'of one millisecond: the attempt before the event, the earlier before both',
    () =>
      titles({
        attempts: [attempt(1)],
        events: [
          event('email.failed', { reason: 'expired' }),
          event('email.complained', {}, { occurredAt: NOW + 60_000 }),
          event('email.suppressed', { reason: 'manual' }, { occurredAt: NOW }),
        ],
      }),
  ],
  [
    'what ended in the millisecond of the acceptance stands behind it',
    () =>
      titles({
        attempts: [attempt(1, { endedAt: NOW })],
        events: [event('email.suppressed', { reason: 'manual' }, { occurredAt: NOW })],
      }),
  ],
  [
    'an event of an attempt that is no longer kept',
    () => told({ attempts: [attempt(2)], events: [delayed(1)] }),
  ],
  [
    'reasons that stand above',
    () =>
      told({
        reasons: ['mx said 451 4.7.1 <Later>', '550 5.1.1 Gone, at last'],
        attempts: [attempt(1), attempt(2, { outcome: 'delivered' })],
        events: [REPORT],
      }),
  ],
  [
    'of two, each with its attempts, and one still waits',
    () =>
      told({
        recipients: [recipient('ann'), waiting('ben')],
        attempts: [
          attempt(1, { outcome: 'sent', host: 'smart.example', reply: null }),
          attempt(2, { recipientId: 'ben', host: null, address: null, stage: 'dns', reply: '' }),
          attempt(3, { recipientId: 'ben', stage: 'throttled', class: 'other' }),
          attempt(4, {
            recipientId: 'gone',
            outcome: 'failed',
            class: 'policy',
            stage: 'odd',
            host: null,
          }),
        ],
      }),
  ],
  ['a hundred and twenty entries', () => titles({ attempts: many(119) })],
  ['one more', () => titles({ attempts: many(120) })],
  ['two more', () => titles({ attempts: many(121) })],
  [
    'twenty-one that wait',
    () => titles({ recipients: Array.from({ length: 21 }, (_, at) => waiting(`r${at}`)) }),
  ],
  ['one that waits', () => told({ recipients: [waiting('ann')] })],
];
