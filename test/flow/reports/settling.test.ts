/** What a report leaves behind: the note, the suppression, the event, and who hears of it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { newEvent } from '../../../src/flow/events.ts';
import { feedbackIdOf, messageOfFeedbackId } from '../../../src/flow/feedback-id.ts';
import { Reports } from '../../../src/flow/reports/reports.ts';
import { recipientOfAny, recipientOfReturnPath } from '../../../src/flow/return-paths.ts';
import { encodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import type { Event } from '../../../src/store/rows.ts';
import type { CallRef } from '../../../src/store/webhooks.ts';
import { newId } from '../../rig/ids.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let heard: Event[];

beforeEach(async () => {
  fixture = await openFixture();
  heard = [];
  fixture.ctx.followers.follow((event) => void heard.push(event));
});
afterEach(() => fixture.close());

const bounce = (fields: string, diagnostic = 'smtp; 550 5.1.1 no such user') =>
  new InboundMessage(
    Buffer.from(
      `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${fields}Action: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: ${diagnostic}\r\n\r\n`,
    ),
  );
const complaint = (type: string, fields = '') =>
  new InboundMessage(
    Buffer.from(
      `Content-Type: message/feedback-report\r\n\r\nFeedback-Type: ${type}\r\nUser-Agent: x/1\r\nVersion: 1\r\n${fields}\r\n`,
    ),
  );

async function sent(...addresses: string[]) {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const to = (addresses.length === 0 ? ['Ann@receiver.example'] : addresses).map((one) =>
    mailbox(one),
  );
  const stored = await fixture.stored(await fixture.accept(by, draft({ to })));
  const [recipient] = stored.recipients;
  if (recipient === undefined) throw new Error('a recipient was accepted');
  heard.length = 0;
  return { ...stored, by, recipient };
}

const take = async (message: InboundMessage, id: string | null) =>
  (await new Reports(fixture.ctx, fixture.sink).take(message, [id]))[0];

test('a bounce suppresses the address, with the first 500 characters of what was said', async () => {
  const { recipient, by, message } = await sent();
  const said = `smtp; 550 5.1.1 ${'no such user '.repeat(60)}`;
  expect(
    await take(bounce('Final-Recipient: rfc822; ann@receiver.example\r\n', said), recipient.id),
  ).toBe('bounced');
  const row = await fixture.ctx.store.suppression(by.account.id, 'ann@receiver.example');
  expect(row).toMatchObject({ reason: 'hard_bounce', source: message.id });
  expect(row?.note).toHaveLength(500);
  expect(heard.map(({ type }) => type)).toEqual(['email.bounced']);
});

test('an entry is known by the address that we sent to, wherever the mail was led', async () => {
  const { recipient } = await sent();
  const groups =
    'Original-Recipient: rfc822; Ann@Receiver.example\r\nFinal-Recipient: rfc822; box7@inner.example\r\n';
  const text = `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; other@inner.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n${groups}Action: delayed\r\nStatus: 4.0.0\r\n\r\n`;
  expect(await take(new InboundMessage(Buffer.from(text)), recipient.id)).toBe('ignored');
});

test('a complaint is taken once, suppresses, and is heard of', async () => {
  const { recipient, by, message } = await sent();
  expect(await take(complaint('abuse'), recipient.id)).toBe('complained');
  expect(await take(complaint('abuse'), recipient.id)).toBe('ignored');
  expect(heard.map(({ type }) => type)).toEqual(['email.complained']);
  const row = await fixture.ctx.store.suppression(by.account.id, 'ann@receiver.example');
  expect(row).toMatchObject({ reason: 'complaint', source: message.id });
  expect((await fixture.ctx.store.recipientById(recipient.id))?.lastReason).toContain('(abuse)');
});

test('what praises or only tells of authentication is no complaint', async () => {
  const { recipient } = await sent();
  for (const type of ['not-spam', 'auth-failure']) {
    expect(await take(complaint(type), recipient.id)).toBe('ignored');
  }
  expect((await fixture.ctx.store.recipientById(recipient.id))?.status).toBe('queued');
});

test('the webhook calls of a report are handed on', async () => {
  const { recipient, by } = await sent();
  const now = fixture.clock.now();
  fixture.ctx.subscribers.note(by.account.id);
  await fixture.ctx.store.createEndpoint(
    {
      id: newId(now),
      accountId: by.account.id,
      url: 'https://hook.example/',
      events: [],
      status: 'active',
      sealedSecret: Buffer.of(0),
      sealedPreviousSecret: null,
      previousUntil: null,
      failureCount: 0,
      lastFailureAt: null,
      createdAt: now,
      deletedAt: null,
    },
    10,
  );
  const offered: CallRef[] = [];
  const reports = new Reports(fixture.ctx, { offerCalls: (calls) => void offered.push(...calls) });
  await reports.take(bounce(''), [recipient.id]);
  expect(offered.map(({ dueAt }) => dueAt)).toEqual([fixture.clock.steady()]);
});

test('mail to a role address is matched by a return path of ours that the report repeats', async () => {
  const { recipient } = await sent();
  const mac = (text: string) => fixture.ctx.secrets.mac('return-path', text);
  const path = `${encodeReturnPath(recipient.id, mac)}@send.acme.example`;
  expect(recipientOfReturnPath(fixture.ctx, path)).toBe(recipient.id);
  expect(recipientOfReturnPath(fixture.ctx, path.split('@')[0] ?? '')).toBe(recipient.id);
  expect(recipientOfAny(fixture.ctx, [null, 'ann@receiver.example', path])).toBe(recipient.id);
  expect(recipientOfAny(fixture.ctx, [null, 'ann@receiver.example'])).toBeNull();
  const text = complaint('abuse', `Original-Mail-From: <${path}>\r\n`);
  expect(await take(text, null)).toBe('complained');
});

test('a bounce to a role address is matched by a return path of ours anywhere in it, and hands on no calls where there are none', async () => {
  const { recipient } = await sent();
  const mac = (text: string) => fixture.ctx.secrets.mac('return-path', text);
  const path = `${encodeReturnPath(recipient.id, mac)}@send.acme.example`;
  const status =
    'Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; ann@receiver.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n';
  const text = `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSent by ${path}\r\n--b\r\n${status}--b--\r\n`;
  const handed: unknown[] = [];
  const reports = new Reports(fixture.ctx, { offerCalls: (calls) => void handed.push(calls) });
  expect(await reports.take(new InboundMessage(Buffer.from(text)), [null])).toEqual(['bounced']);
  expect(handed).toEqual([]);
});

test('a Feedback-ID leads to its message, with white space around it, and no other text does', async () => {
  const { message } = await sent();
  const id = feedbackIdOf(fixture.ctx, message);
  const parts = id.split(':');
  expect(parts.slice(1)).toEqual([
    message.accountId,
    message.domainId ?? '',
    'mail.appliance.example',
  ]);
  expect(messageOfFeedbackId(fixture.ctx, ` ${id}\r\n`)).toBe(message.id);
  const changed = `${parts[0]?.slice(0, -1) ?? ''}${parts[0]?.endsWith('0') === true ? '1' : '0'}`;
  for (const other of [null, '', 'a:b:c:d', changed]) {
    expect(messageOfFeedbackId(fixture.ctx, other)).toBeNull();
  }
});

test('an event has its recipient among its facts, and without facts or recipient none', async () => {
  const { message, recipient } = await sent();
  const input = { message, type: 'email.sent', occurredAt: 5, extra: null } as const;
  const facts = (one: typeof recipient | null, payload: Record<string, unknown> | null) =>
    newEvent(fixture.ctx, { ...input, recipient: one, payload }).payload;
  expect(facts(recipient, { a: 1 })).toBe('{"recipient":"Ann@receiver.example","a":1}');
  expect(facts(recipient, null)).toBe('{"recipient":"Ann@receiver.example"}');
  expect(facts(null, null)).toBeNull();
});

test('nobody hears of an end that could not be written', async () => {
  const { recipient } = await sent();
  const store = { ...fixture.ctx.store, finish: () => Promise.reject(new Error('disk full')) };
  const reports = new Reports({ ...fixture.ctx, store }, fixture.sink);
  const report = bounce('Final-Recipient: rfc822; ann@receiver.example\r\n');
  expect(await reports.take(report, [recipient.id]).catch(String)).toBe('Error: disk full');
  expect([heard, fixture.logged.map(({ event }) => event)]).toEqual([[], ['accepted']]);
});
