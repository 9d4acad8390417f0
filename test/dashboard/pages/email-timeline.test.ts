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
  // A run that begins later has the numbers of its own attempts.
  const later = told({ attempts: [attempt(1, '451 4.3.0 later'), ...attempts.slice(1)] });
  expect(later).toContain('Attempts 2 to 4, mx.receiver.example');
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

/** Class and title of each entry, in order. */
const entriesOf = (text: string): string[] =>
  Array.from(
    text.matchAll(/<li class="(\w+)"> <p class="moment"><strong>([^<]*)<\/strong>/g),
    ([, tone = '', title = '']) => `${tone}: ${title}`,
  );

test.each([
  ['delivered', 'good: Delivered'],
  ['sent', 'good: Handed to the smarthost'],
  ['deferred', 'fair: Not now'],
  ['failed', 'bad: Refused for good'],
] as const)('an attempt that ended as %s is %s', (outcome, entry) => {
  const text = told({ recipients: [first], attempts: [attempt(1, '250 x', outcome)] });
  expect(entriesOf(text)).toContain(entry);
});

test.each([
  ['email.sent', 'good: Sent'],
  ['email.delivered', 'good: Delivered'],
  ['email.delivery_delayed', 'fair: Delayed'],
  ['email.bounced', 'bad: Bounced'],
  ['email.complained', 'bad: Marked as spam'],
  ['email.failed', 'bad: Failed'],
  ['email.suppressed', 'fair: Not sent: suppressed'],
] as const)('%s that no attempt raised is %s', (type, entry) => {
  const text = told({ events: [event(type, { reason: 'why' })] });
  expect(entriesOf(text)).toContain(entry);
  expect(text).toContain('<code>why</code>');
  expect(text).toContain(`<span class="event">${type}</span>`);
  expect(text).not.toContain('A report of the receiver came back.');
});

test.each([
  ['recipient', 'The address does not exist, or takes no mail.'],
  ['mailbox_full', 'The mailbox is full.'],
  ['content', 'The receiver refuses the content.'],
  ['policy', 'A rule of the receiver forbids it.'],
  ['reputation', 'The receiver does not trust this server or domain enough.'],
  ['rate', 'Too much at once for the receiver.'],
  ['network', 'The receiver could not be reached.'],
  ['protocol', 'The session with the receiver went wrong.'],
  ['ours', 'The fault is on this server.'],
])('the class %s is told as %s', (name, words) => {
  const refused = { ...attempt(1, '550 no', 'failed'), class: name } as Attempt;
  expect(told({ attempts: [refused] })).toContain(`<span class="line">${words}</span>`);
  // Of mail that arrived nobody asks what kind of refusal it was.
  const taken = { ...refused, outcome: 'delivered' } as Attempt;
  expect(told({ attempts: [taken] })).not.toContain(words);
});

test('two attempts with the same end are two entries, three are one', () => {
  const same = (count: number): string[] =>
    entriesOf(
      told({
        attempts: Array.from({ length: count }, (_, at) => attempt(at + 1, '452 full')),
      }),
    ).filter((entry) => entry.startsWith('fair'));
  expect(same(2)).toEqual(['fair: Not now', 'fair: Not now']);
  expect(same(3)).toEqual(['fair: Not now, 3 times']);
});

test.each(['reply', 'host', 'address'] as const)(
  'attempts that differ in %s are not one',
  (key) => {
    const attempts = [1, 2, 3].map((number) => ({
      ...attempt(number, '452 full'),
      ...(number === 2 ? { [key]: 'other' } : {}),
    }));
    const text = told({ attempts });
    expect(text).not.toContain('times');
  },
);

test('an attempt says how long it took, with whom it spoke and how it was kept secret', () => {
  const said = (change: Partial<Attempt>): string =>
    /Attempt 1[^<]*/.exec(told({ attempts: [{ ...attempt(1, 'x'), ...change }] }))?.[0] ?? '';
  const tls = (facts: object) => ({ tls: JSON.stringify(facts) });
  const where = 'Attempt 1, 7 ms, mx.receiver.example';
  expect(said({ tls: null })).toBe(`${where} [192.0.2.1], without TLS`);
  expect(said({ tls: null, address: null })).toBe(`${where}, without TLS`);
  expect(said({ tls: null, address: 'mx.receiver.example' })).toBe(`${where}, without TLS`);
  expect(said(tls({ version: 'TLSv1.2', verified: false, policy: 'opportunistic' }))).toBe(
    `${where} [192.0.2.1], TLSv1.2, certificate not verified`,
  );
  expect(said(tls({}))).toBe(`${where} [192.0.2.1], TLS, certificate not verified`);
  expect(said({ host: null, stage: 'dns' })).toStartWith('Attempt 1, 7 ms, at ');
  expect(said({ stage: 'throttled' })).toBe(
    'Attempt 1, not dialled: the receiver had asked to slow down',
  );
});

test('a possible second copy is said, a reason from above is pointed at', () => {
  const twice = 'No reply came after the message was sent: the receiver may have it twice.';
  const attempts = [attempt(1, '452 full'), { ...attempt(2, ''), mayBeDuplicate: true }];
  expect(occurrences(told({ attempts }), twice)).toBe(1);
  expect(told({ attempts: [attempt(1, '452 full')] })).not.toContain(twice);
  const reasons = ['it replied 452 full'];
  expect(told({ attempts: [attempt(1, '452 full')], reasons })).toContain(
    '<span class="line">The reason is shown above.</span>',
  );
});

test('a call is open, done at once or after how many attempts, with the next', () => {
  const sent = event('email.sent', { attempt: 9 });
  const said = (
    status: 'open' | 'done' | 'failed',
    attempts: number,
    at: number | null,
  ): string => {
    const call = { id: 'c', eventId: sent.id, endpointId: 'e', url: 'https://h.example/' };
    const calls = [{ ...call, status, attempts, nextAttemptAt: at }];
    const text = told({ events: [sent], calls });
    return (/<span class="call".*?<\/span ?> ?<a.*?<\/span/.exec(text)?.[0] ?? '')
      .replaceAll(/<[^>]*>|<\/span$/g, '')
      .replace(/^.*?>/, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
  };
  const next = 'next at 1970-01-01 00:00:09 UTC';
  // An event that was told to somebody is named once, and nothing stands for those that were not.
  const call = { id: 'c', eventId: sent.id, endpointId: 'e', url: 'https://h.example/' };
  const done = { ...call, status: 'done', attempts: 1, nextAttemptAt: null } as const;
  expect(occurrences(told({ events: [sent], calls: [done] }), '<span class="event">')).toBe(1);
  expect(said('done', 1, null)).toBe('done https://h.example/');
  expect(said('done', 2, null)).toBe('done https://h.example/ after 2 attempts');
  expect(said('failed', 1, null)).toBe('failed https://h.example/ after 1 attempt');
  expect(said('open', 0, 9_000)).toBe(`open https://h.example/ not posted yet, ${next}`);
  // A time that is left from before the end is none, and an open call may have none yet.
  expect(said('done', 2, 9_000)).toBe('done https://h.example/ after 2 attempts');
  expect(said('failed', 3, 9_000)).toBe('failed https://h.example/ after 3 attempts');
  expect(said('open', 1, null)).toBe('open https://h.example/ after 1 attempt');
  expect(said('open', 1, 9_000)).toBe(`open https://h.example/ after 1 attempt, ${next}`);
});

/** The entries of a story in the order of the clock: accepted before every attempt. */
const toldInOrder = (story: Partial<Story>): string =>
  told({ message: { ...message, createdAt: 0 }, ...story });

test.each([
  [
    ['deferred', 'deferred', 'failed'],
    ['fair: Not now', 'fair: Not now', 'bad: Refused for good'],
  ],
  [
    ['failed', 'deferred', 'deferred'],
    ['bad: Refused for good', 'fair: Not now', 'fair: Not now'],
  ],
  [
    ['deferred', 'delivered', 'deferred'],
    ['fair: Not now', 'good: Delivered', 'fair: Not now'],
  ],
  [
    ['delivered', 'delivered', 'delivered'],
    ['good: Delivered', 'good: Delivered', 'good: Delivered'],
  ],
] as const)('%j with one reply of one server are no run', (outcomes, entries) => {
  const attempts = outcomes.map((outcome, at) => attempt(at + 1, '452 full', outcome));
  const shown = entriesOf(toldInOrder({ recipients: [first], attempts }));
  expect(shown.slice(1, 1 + entries.length)).toEqual([...entries]);
});

test('runs and events belong to their recipient, though numbers and replies are the same', () => {
  const second: Recipient = { ...first, id: 'second', address: 'two@receiver.example' };
  const attempts = [1, 2, 3].flatMap((number) => [
    attempt(number, '452 full'),
    { ...attempt(number, '452 full'), id: `other-${number}`, recipientId: second.id },
  ]);
  const facts = { attempt: 1, stage: 'rcpt', reply: '452 full' };
  const delayed = {
    ...event('email.delivery_delayed', facts),
    recipientId: second.id,
    occurredAt: 1007,
  };
  const text = toldInOrder({ recipients: [first, second], attempts, events: [delayed] });
  expect(entriesOf(text)).toEqual([
    'neutral: Accepted for 2 recipients',
    `fair: ${first.address}: not now, 3 times`,
    'fair: two@receiver.example: not now, 3 times',
    ...entriesOf(text).slice(3),
  ]);
  const [, , ofFirst = '', ofSecond = ''] = text.split('<p class="moment">');
  expect(ofFirst).not.toContain('email.delivery_delayed');
  expect(ofSecond).toContain('<span class="event">email.delivery_delayed</span>');
});

test('a run names the events of each of its attempts, and says when one may have come twice', () => {
  const events = [1, 3].map((number) => ({
    ...event('email.delivery_delayed', { attempt: number, stage: 'rcpt', reply: '452 full' }),
    id: `event-${number}`,
  }));
  const attempts = [1, 2, 3].map((number) => ({
    ...attempt(number, '452 full'),
    mayBeDuplicate: number === 2,
  }));
  const text = told({ attempts, events });
  expect(text).toContain('email.delivery_delayed (2 times)');
  expect(text).toContain('the receiver may have it twice');
  expect(text).toContain(
    '<time datetime="1970-01-01T00:00:01.007Z">1970-01-01 00:00:01 UTC</time> to <time datetime="1970-01-01T00:00:03.007Z">',
  );
});

test.each([
  [{ reply: 'a reply', cause: 'a cause', reason: 'a reason' }, 'a reply'],
  [{ cause: 'a cause', reason: 'a reason' }, 'a cause'],
  [{ reply: '', cause: '', reason: 'a reason' }, 'a reason'],
  [{ reply: null, cause: 7, reason: 'a reason' }, 'a reason'],
])('the reason of an event with %j is %s alone', (facts, reason) => {
  const text = told({ events: [event('email.failed', facts)] });
  expect(text.match(/<code>.*?<\/code>/g)).toEqual([`<code>${reason}</code>`]);
});

test('120 entries are all shown, of 121 one is left out in a line of its own', () => {
  const shown = (count: number): string[] =>
    entriesOf(
      toldInOrder({
        recipients: [{ ...first, status: 'bounced' }],
        // One entry is that it was accepted.
        attempts: Array.from({ length: count - 1 }, (_, at) => attempt(at + 1, `451 try ${at}.`)),
      }),
    );
  const entries = shown(120);
  expect(entries).toHaveLength(120);
  expect(entries.join()).not.toContain('not shown');
  expect(shown(121)).toEqual(
    entries.toSpliced(20, 0, 'neutral: 1 entry not shown here; the API has them all'),
  );
});

test('of many that wait the first twenty are told when they are next', () => {
  const recipients = Array.from({ length: 22 }, (_, at) => ({
    ...waiting,
    id: `waits-${at}`,
    address: `n${at}@receiver.example`,
  }));
  const next = entriesOf(told({ recipients })).slice(1);
  expect(next).toEqual(
    recipients.slice(0, 20).map(({ address }) => `neutral: ${address}: attempt 3 is next`),
  );
});
