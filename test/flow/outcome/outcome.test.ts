/** What the end of an attempt makes of a recipient whose time is over: bounced when a server ever replied for it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { outcomeWithoutSession, type Outcome } from '../../../src/flow/outcome/kinds.ts';
import { settle } from '../../../src/flow/outcome/outcome.ts';
import type { Attempt } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const SILENT = outcomeWithoutSession('unreached', 'connect', 'the connection timed out');
const LATER: Outcome = {
  ...SILENT,
  stage: 'rcpt',
  reply: { code: 451, enhanced: '4.3.0', text: 'later' },
};

/** How the first recipient ends at its expiry, after earlier attempts of it and of another recipient. */
async function expired(outcome: Outcome, own: (string | null)[], others: (string | null)[] = []) {
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const to = [mailbox('ann@receiver.example'), mailbox('ben@receiver.example')];
  const { message, recipients } = await fixture.stored(await fixture.accept(sender, draft({ to })));
  const [ann, ben] = recipients;
  if (ann === undefined || ben === undefined) throw new Error('two recipients were accepted');
  const attempt = (recipientId: string, reply: string | null): Attempt => ({
    id: fixture.ctx.ids.next(message.createdAt),
    messageId: message.id,
    recipientId,
    number: 1,
    beganAt: message.createdAt,
    endedAt: message.createdAt,
    outcome: 'deferred',
    class: 'network',
    stage: 'connect',
    host: null,
    address: null,
    tls: null,
    reply,
    mayBeDuplicate: false,
  });
  const earlier = [
    ...own.map((reply) => attempt(ann.id, reply)),
    ...others.map((reply) => attempt(ben.id, reply)),
  ];
  const store = { ...fixture.ctx.store, attempts: async () => earlier };
  const recipient = { ...ann, attempts: own.length + 1 };
  const ended = {
    message,
    recipient,
    beganAt: ann.expiresAt - 1,
    endedAt: ann.expiresAt,
    steadyAt: ann.expiresAt,
    outcome,
  };
  return settle({ ...fixture.ctx, store }, ended, 0.5);
}

test('a reply of long ago counts, whatever the last attempt ended with', async () => {
  const end = await expired(SILENT, ['451 4.7.1 greylisted', null, 'connection refused']);
  expect([end.status, end.nextAttemptAt, end.suppress]).toEqual(['bounced', null, null]);
  const facts: unknown = JSON.parse(end.events.at(-1)?.payload ?? 'null');
  expect(facts).toMatchObject({ bounce: { type: 'Transient' } });
});

test.each(['451', '250 2.0.0 ok, and then silence', '354 go on'])(
  'the reply %p of an earlier attempt is one',
  async (reply) => {
    expect((await expired(SILENT, [reply])).status).toBe('bounced');
  },
);

test('a reply at the last attempt counts', async () => {
  expect((await expired(LATER, [null])).status).toBe('bounced');
});

test('our own words for a failure are no reply, nor is what was said of another recipient', async () => {
  const words = [
    'the connection timed out',
    '4 hosts refused',
    '600 seconds passed',
    'nothing at port 587 answers',
    '4510 bytes without an end of line',
    '199 lines of greeting',
    null,
  ];
  const end = await expired(SILENT, words, ['451 4.7.1 greylisted']);
  expect([end.status, end.nextAttemptAt]).toEqual(['failed', null]);
  expect(end.events.map(({ type }) => type)).toEqual(['email.failed']);
});

test('the note of a suppression names the host once', async () => {
  const refused: Outcome = {
    ...LATER,
    kind: 'refused',
    host: 'mx.example.com',
    address: '192.0.2.1',
    reply: { code: 550, enhanced: '5.1.1', text: 'no such user' },
  };
  const { suppress } = await expired(refused, []);
  expect(suppress).toMatchObject({ reason: 'hard_bounce', email: 'ann@receiver.example' });
  expect(suppress?.note).toStartWith('mx.example.com (192.0.2.1) replied 550 5.1.1 no such user');
});

test('while it is deferred a recipient has an email.delivery_delayed at once, and then every six hours', async () => {
  const HOUR_MS = 3_600_000;
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const { message, recipients } = await fixture.stored(await fixture.accept(sender, draft()));
  let [recipient] = recipients;
  const told: number[] = [];
  const hours = [0, 1, 6 - 1 / HOUR_MS, 6, 7, 11.9, 12, 13];
  for (const [earlier, hour] of hours.entries()) {
    if (recipient === undefined) throw new Error('a recipient was accepted');
    const steadyAt = message.createdAt + Math.round(hour * HOUR_MS);
    recipient = { ...recipient, attempts: earlier + 1 };
    const ended = { message, recipient, beganAt: steadyAt, endedAt: steadyAt, steadyAt };
    const end = await settle(fixture.ctx, { ...ended, outcome: LATER }, 0.5);
    expect(end.status).toBe('delivery_delayed');
    if (end.events.some(({ type }) => type === 'email.delivery_delayed')) told.push(hour);
    recipient = { ...recipient, delayedAt: end.delayedAt };
  }
  expect(told).toEqual([0, 6, 12]);
});
