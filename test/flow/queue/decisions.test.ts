/** What the queue decides before an attempt and instead of one: marks of acceptance, suppression, the operator's end. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { AcceptedMarks } from '../../../src/flow/queue/accepted-marks.ts';
import { explain, failByOperator, inWallTime } from '../../../src/flow/queue/operator.ts';
import { endOfSuppressed } from '../../../src/flow/queue/suppressed.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { FinishAttempt, NewMessage } from '../../../src/store/journey.ts';
import type { Event, Recipient } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../fixture.ts';

const HOUR_MS = 3_600_000;

let fixture: Fixture;
let sender: RequestSender;
beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

async function sent(...addresses: string[]) {
  const to = addresses.map((address) => mailbox(address));
  const stored = await fixture.stored(await fixture.accept(sender, draft({ to })));
  const [first] = stored.recipients;
  if (first === undefined) throw new Error('a recipient was accepted');
  return { ...stored, first };
}

/** A message with so many open recipients, and one that ended at its acceptance. */
async function offered(open: number): Promise<NewMessage> {
  const { message, first } = await sent('ann@receiver.example');
  const one = (n: number): Recipient => ({ ...first, id: `${message.id} ${n}` });
  const ended: Recipient = { ...first, id: 'ended', status: 'suppressed', nextAttemptAt: null };
  const body = { html: null, text: 'x', headers: [], attachments: [], raw: null };
  const recipients = [...Array.from({ length: open }, (_, n) => one(n)), ended];
  return { message, body, recipients, events: [] };
}

test('acceptance begins the attempts of what is open, in the name of its queue, due again in fifteen seconds', async () => {
  const marks = new AcceptedMarks('me');
  const message = await offered(2);
  marks.mark([message], 1_000);
  marks.keep(message);
  expect(message.owner).toBe('me');
  expect(message.recipients.map((row) => [row.attempts, row.nextAttemptAt])).toEqual([
    [1, 16_000],
    [1, 16_000],
    [0, null],
  ]);
  const [one, two] = message.recipients.map(({ id }) => id);
  // Five seconds before its time a mark is not used any more.
  const [taken, late] = [marks.take(one ?? '', 10_999), marks.take(two ?? '', 11_000)];
  expect([taken?.recipient.id, taken?.isValid]).toEqual([one, true]);
  expect([late?.recipient.id, late?.isValid]).toEqual([two, false]);
  expect([marks.take(one ?? '', 1_000), marks.take(two ?? '', 1_000)]).toEqual([null, null]);
  expect([marks.take('ended', 1_000), marks.takeAll()]).toEqual([null, []]);
});

test('five hundred are marked at most, those of one commit too, a message whole or not at all', async () => {
  const marks = new AcceptedMarks('me');
  const [large, small, over] = [await offered(499), await offered(1), await offered(1)];
  marks.mark([large, small, over], 1_000);
  expect([large.owner, small.owner, over.owner]).toEqual(['me', 'me', undefined]);
  for (const one of [large, small, over]) marks.keep(one);
  const late = await offered(1);
  marks.mark([late], 1_000);
  expect([late.owner, late.recipients[0]?.attempts]).toEqual([undefined, 0]);
  marks.take(small.recipients[0]?.id ?? '', 1_000);
  marks.mark([late], 1_000);
  expect([late.owner, late.recipients[0]?.attempts]).toEqual(['me', 1]);
  expect(marks.takeAll()).toHaveLength(499);
  expect(marks.takeAll()).toEqual([]);
});

test('what was suppressed since its acceptance ends instead of being mailed, whatever the case', async () => {
  const { first } = await sent('Ann@Receiver.example');
  await addSuppression(fixture.ctx, sender.account.id, {
    email: 'ann@receiver.example',
    reason: 'complaint',
  });
  const endOf = (attempts: number) => endOfSuppressed(fixture.ctx, { ...first, attempts });
  // It was checked a moment ago.
  expect(await endOf(1)).toBeNull();
  fixture.clock.pass(60_000);
  expect(await endOf(1)).toBeNull();
  const end = await endOf(2);
  expect(end).toMatchObject({
    recipientId: first.id,
    status: 'suppressed',
    nextAttemptAt: null,
    lastReason: 'The recipient is suppressed (complaint).',
    attempt: null,
    suppress: null,
  });
  expect(end?.events.map(({ type }) => type)).toEqual(['email.suppressed']);
  fixture.clock.pass(1);
  expect((await endOf(1))?.status).toBe('suppressed');
  // By a wall clock that was set back it was accepted later on: that is no moment ago either.
  fixture.clock.jump(-120_001);
  expect(await endOf(1)).toBeNull();
  fixture.clock.jump(-1);
  expect((await endOf(1))?.status).toBe('suppressed');
  fixture.clock.jump(120_002);
  const other = await fixture.sender({ name: 'other' });
  expect(
    await endOfSuppressed(fixture.ctx, { ...first, accountId: other.account.id, attempts: 2 }),
  ).toBeNull();
});

test('the end of a suppressed recipient, whole, with its event and its line in the log', async () => {
  const { first, message } = await sent('ann@receiver.example');
  await addSuppression(fixture.ctx, sender.account.id, {
    email: 'ann@receiver.example',
    reason: 'complaint',
  });
  fixture.clock.jump(HOUR_MS);
  const now = fixture.clock.now();
  const end = await endOfSuppressed(fixture.ctx, { ...first, delayedAt: 7, lastReason: 'x' });
  const { events = [], ...rest } = end ?? {};
  expect(rest).toEqual({
    recipientId: first.id,
    messageId: message.id,
    accountId: sender.account.id,
    now,
    dueAt: now - HOUR_MS,
    status: 'suppressed',
    nextAttemptAt: null,
    lastReason: 'The recipient is suppressed (complaint).',
    delayedAt: 7,
    owner: null,
    attempt: null,
    suppress: null,
  });
  expect(events).toEqual([
    {
      id: expect.any(String) as string,
      messageId: message.id,
      accountId: sender.account.id,
      recipientId: first.id,
      type: 'email.suppressed',
      occurredAt: now,
      payload: '{"recipient":"ann@receiver.example","reason":"complaint"}',
      webhookBody: null,
    },
  ]);
  expect(fixture.logged.at(-1)).toEqual({
    time: new Date(now).toISOString(),
    level: 'info',
    event: 'ended',
    request_id: message.logId,
    message_id: message.id,
    recipient_id: first.id,
    status: 'suppressed',
    reason: 'The recipient is suppressed (complaint).',
  });
});

test.each([
  // Whether other processes share the store, who fails it → what the end must not overtake
  [false, 'me', undefined],
  [true, 'me', { owner: 'me', now: 0 }],
  [true, null, { owner: null, now: 0 }],
])('shared %p, failed by the queue %p: an end that spares %j', async (isShared, owner, spares) => {
  const { first, message } = await sent('ann@receiver.example');
  fixture.ctx.subscribers.note(sender.account.id);
  const ends: FinishAttempt[] = [];
  let isOvertaken = true;
  const calls = [{ id: 'call', endpointId: 'hook', dueAt: 0 }];
  const ctx: Fixture['ctx'] = {
    ...fixture.ctx,
    revision: { number: isShared ? 1 : null } as Fixture['ctx']['revision'],
    store: {
      ...fixture.ctx.store,
      recipientById: async () => ({ ...first, attempts: 3, lastReason: 'refused' }),
      async finish(end) {
        ends.push(end);
        return { calls, messageStatus: 'failed', isOvertaken };
      },
    },
  };
  const heard: string[] = [];
  ctx.followers.follow(({ type }) => void heard.push(type));
  fixture.clock.jump(HOUR_MS);
  const now = fixture.clock.now();
  const queue = owner === null ? null : { owner, isInAttempt: () => false };
  fixture.logged.length = 0;
  // Another has begun it meanwhile: nothing is told of it.
  expect(await failByOperator(ctx, first.id, queue)).toEqual([]);
  expect([heard, fixture.logged]).toEqual([[], []]);
  isOvertaken = false;
  expect(await failByOperator(ctx, first.id, queue)).toEqual([calls]);
  const reason = 'given up by the operator; before that: refused';
  const line = { request_id: message.logId, message_id: message.id, recipient_id: first.id };
  expect(fixture.logged).toEqual([
    {
      time: new Date(now).toISOString(),
      level: 'info',
      event: 'ended',
      ...line,
      status: 'failed',
      reason,
    },
  ]);
  expect(heard).toEqual(['email.failed']);
  const steadyAt = now - HOUR_MS;
  const [{ events, ...end } = { events: [] }] = ends.slice(1);
  expect(end).toEqual({
    recipientId: first.id,
    messageId: message.id,
    accountId: sender.account.id,
    now,
    dueAt: steadyAt,
    status: 'failed',
    nextAttemptAt: null,
    lastReason: reason,
    delayedAt: null,
    owner: null,
    attempt: null,
    suppress: null,
    ...(spares === undefined ? {} : { spares: { ...spares, now: steadyAt } }),
  });
  expect(events.map((event) => ({ ...event, webhookBody: null }))).toEqual([
    {
      id: expect.any(String) as string,
      messageId: message.id,
      accountId: sender.account.id,
      recipientId: first.id,
      type: 'email.failed',
      occurredAt: now,
      payload:
        '{"recipient":"ann@receiver.example","attempt":3,"cause":"given up by the operator"}',
      webhookBody: null,
    },
  ]);
  expect(JSON.parse(events[0]?.webhookBody ?? 'null')).toMatchObject({
    type: 'email.failed',
    created_at: new Date(now).toISOString(),
    data: { email_id: message.id, to: ['ann@receiver.example'], failed: { reason } },
  });
});

test('the operator ends what waits, by message or recipient, and leaves alone what is in an attempt or ended', async () => {
  const { message, recipients, first } = await sent(
    'ann@receiver.example',
    'ben@receiver.example',
    'cy@receiver.example',
  );
  const heard: Event[] = [];
  fixture.ctx.followers.follow((event) => void heard.push(event));
  const fail = (id: string, busy = '') =>
    failByOperator(fixture.ctx, id, { owner: 'a', isInAttempt: (one) => one === busy });
  expect(await fail(first.id, first.id)).toEqual([]);
  expect(await fail(first.id)).toHaveLength(1);
  expect(await fail(first.id)).toEqual([]);
  expect(await fail(message.id, recipients[1]?.id)).toHaveLength(1);
  const rows = await fixture.ctx.store.recipients(message.id);
  expect(rows.map(({ status, lastReason }) => [status, lastReason])).toEqual([
    ['failed', 'given up by the operator'],
    ['queued', null],
    ['failed', 'given up by the operator'],
  ]);
  expect(heard.map(({ type, recipientId }) => [type, recipientId])).toEqual([
    ['email.failed', first.id],
    ['email.failed', recipients[2]?.id ?? ''],
  ]);
});

test('what a smarthost has taken is sent for good: an operator does not end it', async () => {
  const { first } = await sent('ann@receiver.example');
  const taken: Recipient = { ...first, status: 'sent', nextAttemptAt: null };
  const store = { ...fixture.ctx.store, recipientById: async () => taken };
  expect(await failByOperator({ ...fixture.ctx, store }, first.id, null)).toEqual([]);
  expect((await fixture.ctx.store.recipients(first.messageId))[0]?.status).toBe('queued');
});

test('why a recipient waits is told in one sentence, with its times by the wall clock', async () => {
  const { first } = await sent('ann@receiver.example');
  fixture.clock.jump(HOUR_MS);
  const now = fixture.clock.now();
  const shown = inWallTime(fixture.clock, { ...first, delayedAt: first.expiresAt });
  expect([shown.nextAttemptAt, shown.expiresAt, shown.delayedAt]).toEqual([
    now,
    first.expiresAt + HOUR_MS,
    first.expiresAt + HOUR_MS,
  ]);
  const until = new Date(shown.expiresAt).toISOString();
  const say = (change: Partial<Recipient>) => explain({ ...shown, ...change }, now);
  const later = new Date(now + 1).toISOString();
  expect(say({})).toBe(`ann@receiver.example waits for its first attempt, until ${until}.`);
  expect(say({ attempts: 1 })).toBe(
    `ann@receiver.example is due now and until ${until}, after one attempt.`,
  );
  expect(say({ attempts: 2, nextAttemptAt: now + 1, lastReason: 'Gone.' })).toBe(
    `ann@receiver.example is tried again at ${later} and until ${until}, after 2 attempts: Gone.`,
  );
  expect(say({ attempts: 3, lastReason: 'mx.example.com: 4.2.0 Wait.' })).toBe(
    `ann@receiver.example is due now and until ${until}, after 3 attempts: mx.example.com: 4.2.0 Wait.`,
  );
  expect(say({ nextAttemptAt: null, status: 'bounced', lastReason: 'no such user' })).toBe(
    'ann@receiver.example is bounced: no such user.',
  );
});

test('an email that went with its account meanwhile is ended by nobody', async () => {
  const { first } = await sent('ann@receiver.example');
  const email = 'ann@receiver.example';
  await addSuppression(fixture.ctx, sender.account.id, { email, reason: 'complaint' });
  const store = { ...fixture.ctx.store, messageById: async () => null };
  const gone = { ...fixture.ctx, store };
  fixture.logged.length = 0;
  expect(await failByOperator(gone, first.id, null)).toEqual([]);
  expect(await endOfSuppressed(gone, { ...first, attempts: 2 })).toBeNull();
  expect(fixture.logged).toEqual([]);
});
