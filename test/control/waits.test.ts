/** Who waits for an email by command: until its last recipient has ended, whatever happens to others; and the send. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Scope } from '../../src/control/operation.ts';
import { perform } from '../../src/control/operations.ts';
import type { Queue } from '../../src/flow/queue/queue.ts';
import type { Event } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { openFixture, type Fixture, type RequestSender } from '../flow/fixture.ts';
import { accepted, finishOf, newMessage } from '../store/samples.ts';

let fixture: Fixture;
let scope: Scope;
let sender: RequestSender;
let told: string[];
/** Those who follow events now. */
let followers: number;

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  told = [];
  followers = 0;
  const { followers: all } = fixture.ctx;
  const follow = all.follow.bind(all);
  all.follow = (listener) => {
    followers += 1;
    const stop = follow(listener);
    return () => {
      followers -= 1;
      stop();
    };
  };
  scope = {
    ctx: fixture.ctx,
    queue: {} as Queue,
    dispatcher: null,
    sink: {
      progress: (text) => void told.push(text),
      chunk: () => Promise.resolve(),
      left: new AbortController().signal,
    },
    reload: null,
    by: 'tester',
  };
});
afterEach(() => fixture.close());

const ticks = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A message that waits for `to`, and what tells an event of one of its recipients. */
async function waiting(...to: string[]) {
  const made: NewMessage = newMessage(sender.account.id, {}, to);
  await accepted(fixture.ctx.store, made);
  const tell = (type: Event['type'], at: number): void => {
    const [event] = made.events;
    if (event === undefined) throw new Error('nothing was made');
    const recipientId = made.recipients[at]?.id ?? null;
    fixture.ctx.followers.tell([{ ...event, type, recipientId }]);
  };
  return { made, tell };
}

test('it ends with the last recipient of this email, and tells of no other email', async () => {
  const { store } = fixture.ctx;
  const mine = await waiting('ann@x.example', 'bob@x.example');
  const other = await waiting('cy@x.example');
  let isOver = false;
  const { id } = mine.made.message;
  const wait = perform(scope, 'email.wait', { id }).then((detail) => {
    isOver = true;
    return detail;
  });
  await ticks();
  expect(followers).toBe(1);
  other.tell('email.delivery_delayed', 0);
  const [ann, bob] = mine.made.recipients;
  if (ann === undefined || bob === undefined) throw new Error('no recipients');
  // Of a recipient that is gone there is nothing to say.
  mine.tell('email.delivery_delayed', 2);
  await store.finish(finishOf(mine.made, ann, { attempt: null }));
  mine.tell('email.delivered', 0);
  await ticks();
  expect([isOver, told]).toEqual([false, []]);
  await store.finish(finishOf(mine.made, bob, { status: 'failed', attempt: null }));
  mine.tell('email.failed', 1);
  const { message, recipients } = await wait;
  expect(message.id).toBe(id);
  expect(recipients.map(({ status }) => status)).toEqual(['delivered', 'failed']);
  expect(followers).toBe(0);
});

test('after the wall clock was set, times are told as it shows them, and what is due is retried by steady time', async () => {
  const { store, clock } = fixture.ctx;
  const mine = await waiting('ann@x.example');
  const [ann] = mine.made.recipients;
  if (ann === undefined) throw new Error('no recipient');
  const nextAttemptAt = clock.steady() + 60_000;
  const delayed = { status: 'delivery_delayed', lastReason: '451 Later.', attempt: null } as const;
  await store.finish(finishOf(mine.made, ann, { ...delayed, nextAttemptAt }));
  const HOUR_MS = 3_600_000;
  fixture.clock.jump(-HOUR_MS);
  const untilMs = clock.steady() + 5_000;
  const throttle = { site: 'mx.example', cause: 'slow', class: 'rate', hint: null, untilMs };
  const left = new AbortController();
  const progress = (text: string): void => {
    told.push(text);
    left.abort();
  };
  const queue = { throttles: () => [throttle], retry: () => Promise.resolve(0) };
  const sink = { ...scope.sink, progress, left: left.signal };
  scope = { ...scope, queue: queue as unknown as Queue, sink };
  const iso = (ms: number): string => new Date(ms - HOUR_MS).toISOString();
  const { recipients } = await perform(scope, 'email.wait', { id: mine.made.message.id });
  const sentence = `ann@x.example waits for its first attempt, until ${iso(ann.expiresAt)}.`;
  expect([told, recipients[0]?.explanation]).toEqual([[sentence], sentence]);
  const listed = await perform(scope, 'queue.list', { domain: null });
  expect(listed.throttles[0]?.until).toBe(iso(untilMs));
  expect(listed.recipients[0]?.nextAttemptAt).toBe(nextAttemptAt - HOUR_MS);
  await perform({ ...scope, queue: null }, 'queue.retry', { id: ann.id, domain: null });
  const after = await store.recipientById(ann.id);
  expect(after?.nextAttemptAt).toBe(clock.steady());
});

test.each([
  ['back', -3_600_000],
  ['forward', 3_600_000],
])('after the wall clock was set %s, what is due is told from what is not', async (_, jumpMs) => {
  const { store, clock } = fixture.ctx;
  const mine = await waiting('ann@x.example', 'bob@x.example');
  const dueIn = [60_000, 0];
  const rows = mine.made.recipients.map((row, at) => ({
    ...row,
    attempts: 1 + at,
    nextAttemptAt: clock.steady() + (dueIn[at] ?? 0),
    lastReason: '451 Later.',
  }));
  store.queue = () => Promise.resolve(rows);
  scope = { ...scope, queue: null };
  fixture.clock.jump(jumpMs);
  const { recipients } = await perform(scope, 'queue.list', { domain: null });
  const iso = (ms = 0): string => new Date(ms + jumpMs).toISOString();
  expect(recipients.map(({ explanation }) => explanation)).toEqual([
    `ann@x.example is tried again at ${iso(rows[0]?.nextAttemptAt)} and until ${iso(rows[0]?.expiresAt)}, after one attempt: 451 Later.`,
    `bob@x.example is due now and until ${iso(rows[1]?.expiresAt)}, after 2 attempts: 451 Later.`,
  ]);
});

test('giving up counts what a running queue leaves alone, and nothing that has ended', async () => {
  const mine = await waiting('ann@x.example', 'bob@x.example', 'cy@x.example');
  const [, bob, cy] = mine.made.recipients;
  if (bob === undefined || cy === undefined) throw new Error('no recipients');
  const { store } = fixture.ctx;
  await store.finish(finishOf(mine.made, bob, { status: 'sent', attempt: null }));
  await store.finish(finishOf(mine.made, cy, { status: 'delivered', attempt: null }));
  const asked: string[] = [];
  const fail = (id: string): Promise<number> => Promise.resolve(asked.push(id) - 1);
  scope = { ...scope, queue: { fail } as unknown as Queue };
  const { id } = mine.made.message;
  expect(await perform(scope, 'queue.fail', { id })).toEqual({ failed: 0, under_way: 1 });
  expect(asked).toEqual([id]);
});

test('who names a recipient waits for the whole email, and sees that recipient alone', async () => {
  const { store } = fixture.ctx;
  const mine = await waiting('ann@x.example', 'bob@x.example');
  const [ann, bob] = mine.made.recipients;
  if (ann === undefined || bob === undefined) throw new Error('no recipients');
  let isOver = false;
  const wait = perform(scope, 'email.wait', { id: ann.id }).then((detail) => {
    isOver = true;
    return detail;
  });
  await ticks();
  await store.finish(finishOf(mine.made, ann, { attempt: null }));
  mine.tell('email.delivered', 0);
  await ticks();
  expect(isOver).toBe(false);
  await store.finish(finishOf(mine.made, bob, { attempt: null }));
  mine.tell('email.delivered', 1);
  const { message, recipients } = await wait;
  expect([message.id, recipients.map(({ id }) => id)]).toEqual([mine.made.message.id, [ann.id]]);
});

test('who left before the wait began is not waited for, and nobody follows any more', async () => {
  const mine = await waiting('ann@x.example');
  scope = { ...scope, sink: { ...scope.sink, left: AbortSignal.abort() } };
  const { message } = await perform(scope, 'email.wait', { id: mine.made.message.id });
  expect([message.status, followers]).toEqual(['queued', 0]);
});

test('of one recipient that a running queue gives up the others are not counted', async () => {
  const mine = await waiting('ann@x.example', 'bob@x.example');
  const [ann] = mine.made.recipients;
  if (ann === undefined) throw new Error('no recipients');
  const asked: string[] = [];
  const fail = async (id: string): Promise<number> => {
    asked.push(id);
    await fixture.ctx.store.finish(finishOf(mine.made, ann, { status: 'failed', attempt: null }));
    return 1;
  };
  scope = { ...scope, queue: { fail } as unknown as Queue };
  expect(await perform(scope, 'queue.fail', { id: ann.id })).toEqual({ failed: 1, under_way: 0 });
  expect(asked).toEqual([ann.id]);
});

test('a store that cannot be read ends the wait with its error, and nobody follows any more', async () => {
  const mine = await waiting('ann@x.example');
  const wait = perform(scope, 'email.wait', { id: mine.made.message.id }).catch(String);
  await ticks();
  fixture.ctx.store.recipients = () => Promise.reject(new Error('the store is closed'));
  mine.tell('email.delivered', 0);
  expect(await wait).toBe('Error: the store is closed');
  expect(followers).toBe(0);
});

test('what is sent by command is offered to the running queue', async () => {
  await fixture.verified(sender, 'acme.example');
  const offered: string[] = [];
  const queue = {
    offerAccepted: (all: NewMessage[]) =>
      void offered.push(...all.map(({ message }) => message.id)),
    offerCalls: () => undefined,
  };
  scope = { ...scope, queue: queue as unknown as Queue };
  const email = JSON.stringify({
    from: 'hello@acme.example',
    to: 'ann@x.example',
    subject: 'Hello',
    text: 'Hello.',
  });
  const args = { account: sender.account.name, email, isSandbox: false };
  const { id, status } = await perform(scope, 'email.send', args);
  expect([status, offered]).toEqual(['queued', [id]]);
});

test('a file to attach is never fetched for a command: its content must come along', async () => {
  const attachments = [{ filename: 'a.pdf', path: 'https://files.example/a.pdf' }];
  const email = JSON.stringify({
    from: 'hello@acme.example',
    to: 'ann@x.example',
    subject: 'Hello',
    text: 'Hello.',
    attachments,
  });
  const args = { account: sender.account.name, email, isSandbox: true };
  expect(await perform(scope, 'email.send', args).catch(String)).toContain(
    'attachments[0].path is not supported on this route; send content instead.',
  );
});

test('an email to send by command needs content and may have all that a batch takes', async () => {
  await fixture.verified(sender, 'acme.example');
  scope = { ...scope, queue: null };
  const email = { from: 'hello@acme.example', to: 'ann@x.example', subject: 'Hello' };
  const send = (change: object) =>
    perform(scope, 'email.send', {
      account: sender.account.name,
      email: JSON.stringify({ ...email, ...change }),
      isSandbox: true,
    });
  expect(await send({}).catch(String)).toBe('ApiError: Missing `html` or `text` field.');
  expect(await send({ text: '' }).catch(String)).toBe('ApiError: text must not be empty.');
  const { id } = await send({
    html: '<p>Hello.</p>',
    cc: 'cy@x.example',
    bcc: ['dan@x.example'],
    headers: { 'X-Own': 'own' },
    attachments: [{ filename: 'a.txt', content: 'YQ==' }],
  });
  const { message } = await perform(scope, 'queue.show', { id });
  expect(message).toMatchObject({ cc: ['cy@x.example'], bcc: ['dan@x.example'], isSandbox: true });
});
