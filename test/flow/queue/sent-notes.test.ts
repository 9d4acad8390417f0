/** When `sent` is recorded for attempts that take long, what is written and told of them, and what is not. */
import { expect, test } from 'bun:test';

import { createLog } from '../../../src/base/log.ts';
import { IdSource } from '../../../src/base/ids.ts';
import type { Context } from '../../../src/flow/context.ts';
import { SentNotes, type SentNote } from '../../../src/flow/queue/sent-notes.ts';
import type { SentAttempt } from '../../../src/store/journey.ts';
import type { Attempt, Message, Recipient } from '../../../src/store/rows.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import type { CallRef } from '../../../src/store/webhooks.ts';
import { TestClock } from '../../rig/clock.ts';

const MESSAGE: Message = {
  id: 'm',
  accountId: 'acc',
  keyId: null,
  logId: null,
  domainId: null,
  isSandbox: false,
  from: 'a@x.example',
  to: ['r@y.example'],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: 's',
  tags: [],
  eventHeaders: [],
  messageId: '<m@x.example>',
  status: 'queued',
  failureReason: null,
  createdAt: 0,
  updatedAt: 0,
};
const recipientOf = (id: string, change: Partial<Recipient> = {}): Recipient => ({
  id,
  messageId: 'm',
  accountId: 'acc',
  address: `${id}@y.example`,
  domain: 'y.example',
  kind: 'to',
  status: 'queued',
  attempts: 1,
  nextAttemptAt: 9,
  expiresAt: 99,
  lastReason: null,
  delayedAt: null,
  updatedAt: 0,
  ...change,
});
const CALL: CallRef = { id: 'call', endpointId: 'hook', dueAt: 0 };

/** Notes over a store that answers as told; `earlier`: attempts that it knows. */
function start(answers: (CallRef[] | Error | Promise<CallRef[]>)[] = [], earlier: Attempt[] = []) {
  const clock = new TestClock();
  const beganAt = clock.now();
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const written: SentAttempt[][] = [];
  const told: string[][] = [];
  const offered: CallRef[][] = [];
  const ctx = {
    clock,
    log,
    ids: new IdSource(),
    subscribers: { mayHave: () => false },
    followers: {
      tell: (events: SentAttempt['event'][]) =>
        told.push(events.map(({ recipientId }) => recipientId ?? '')),
    },
    store: {
      attempts: async () => earlier,
      async noteSent(attempts: SentAttempt[]) {
        written.push(attempts);
        const answer = (await answers.shift()) ?? [];
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  } as unknown as Context;
  const notes = new SentNotes({ ctx, offerCalls: (calls) => offered.push([...calls]) });
  const begin = (id: string, change: Partial<Recipient> = {}): SentNote =>
    notes.begin(MESSAGE, recipientOf(id, change), clock.now());
  /** When, and for whom, a commit was made. */
  const commits = () =>
    written.map((all) => [
      (all[0]?.now ?? 0) - beganAt,
      ...all.map(({ recipientId }) => recipientId),
    ]);
  return { clock, beganAt, notes, begin, commits, written, told, offered, logged };
}

test('it is recorded one to two quarters of a second after the beginning, together with those of its round', async () => {
  const { clock, begin, commits, told, notes } = start();
  const first = begin('first');
  await clock.advance(249);
  const last = begin('last');
  await clock.advance(1);
  const next = begin('next');
  await clock.advance(249);
  expect(commits()).toEqual([]);
  await clock.advance(1);
  expect(commits()).toEqual([[500, 'first', 'last']]);
  await clock.advance(250);
  expect(commits()).toEqual([
    [500, 'first', 'last'],
    [750, 'next'],
  ]);
  expect(told).toEqual([['first', 'last'], ['next']]);
  for (const note of [first, last, next]) expect(note.recipient.status).toBe('sent');
  // Nothing is under way: no timer, and those that begin later have their own rounds.
  expect(clock.pending()).toEqual([]);
  for (const note of [first, last, next, null]) await notes.end(note);
  await clock.advance(10_000);
  const late = begin('late');
  await clock.advance(500);
  expect(commits().at(-1)).toEqual([11_250, 'late']);
  expect(late.recipient.status).toBe('sent');
});

test('what ended in its round or in the next is not recorded, and the timer ends with them', async () => {
  const { clock, begin, commits, notes } = start();
  const [young, old] = [begin('young'), begin('old')];
  await notes.end(young);
  await clock.advance(250);
  await notes.end(old);
  expect(clock.pending()).toHaveLength(1);
  await clock.advance(250);
  expect([commits(), clock.pending(), young.recording, old.recording]).toEqual([
    [],
    [],
    null,
    null,
  ]);
  expect([young.recipient.status, old.recipient.status]).toEqual(['queued', 'queued']);
});

test('a record has its attempt, its times by both clocks and the event of its beginning', async () => {
  const { clock, begin, written, beganAt } = start();
  begin('a', { attempts: 1 });
  clock.jump(-3_600_000);
  await clock.advance(500);
  const { event, ...record } = written[0]?.[0] ?? { event: null };
  expect(record).toEqual({
    recipientId: 'a',
    messageId: 'm',
    accountId: 'acc',
    now: beganAt - 3_600_000 + 500,
    dueAt: beganAt + 500,
  });
  expect(event).toEqual({
    id: expect.any(String) as string,
    messageId: 'm',
    accountId: 'acc',
    recipientId: 'a',
    type: 'email.sent',
    occurredAt: beganAt,
    payload: '{"recipient":"a@y.example","attempt":1}',
    webhookBody: null,
  });
});

test('those whose event was raised before are left out, and a round of such alone is not committed', async () => {
  const earlier = { recipientId: 'again', stage: 'rcpt' } as Attempt;
  const { clock, begin, commits } = start([], [earlier]);
  begin('again', { attempts: 2 });
  begin('open', { status: 'sent' });
  await clock.advance(500);
  expect(commits()).toEqual([]);
  const again = begin('again', { attempts: 2, status: 'delivery_delayed' });
  // Its earlier attempt was put off before it had a signature, or was another's.
  const other = begin('other', { attempts: 2, status: 'delivery_delayed' });
  await clock.advance(500);
  expect(commits()).toEqual([[1_000, 'other']]);
  expect([again.recipient.status, other.recipient.status]).toEqual(['delivery_delayed', 'sent']);
});

test('webhook calls of a commit are offered once, and none where there are none', async () => {
  const { clock, begin, offered } = start([[CALL], []]);
  begin('a');
  await clock.advance(500);
  begin('b');
  await clock.advance(500);
  expect(offered).toEqual([[CALL]]);
});

test('an end waits for the record that is being written', async () => {
  const written = Promise.withResolvers<CallRef[]>();
  const { clock, begin, notes, told } = start([written.promise]);
  const note = begin('a');
  await clock.advance(500);
  let isEnded = false;
  const ending = notes.end(note).then(() => (isEnded = true));
  await clock.advance(0);
  expect([isEnded, note.recipient.status, told]).toEqual([false, 'queued', []]);
  written.resolve([]);
  await ending;
  expect([note.recipient.status, told]).toEqual(['sent', [['a']]]);
});

test('what cannot be written is written with the outcome: a full disk is told elsewhere, a fault here', async () => {
  const { clock, begin, notes, told, offered, logged, beganAt } = start([
    new StoreFullError('full'),
    new Error('a fault'),
    [],
  ]);
  const full = begin('full');
  await clock.advance(500);
  expect(logged).toEqual([]);
  const fault = begin('fault');
  await clock.advance(500);
  expect(logged).toEqual([
    {
      time: new Date(beganAt + 1_000).toISOString(),
      level: 'error',
      event: 'sent_not_recorded',
      error: expect.objectContaining({ message: 'a fault' }) as unknown,
      hint: 'A fault of the appliance: the status becomes `sent` with the outcome of the attempt only. Please report it.',
    },
  ]);
  for (const note of [full, fault]) {
    await notes.end(note);
    expect(note.recipient.status).toBe('queued');
  }
  expect([told, offered]).toEqual([[], []]);
  // The rounds go on.
  const next = begin('next');
  await clock.advance(500);
  expect(next.recipient.status).toBe('sent');
});
