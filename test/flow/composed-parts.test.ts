/** What a stored message is composed of, and the identifiers in it by which reports find their way back. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { composeInputOf } from '../../src/flow/compose-input.ts';
import { feedbackIdOf, messageOfFeedbackId } from '../../src/flow/feedback-id.ts';
import { recipientOfAny, recipientOfReturnPath } from '../../src/flow/return-paths.ts';
import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import type { Body, Message } from '../../src/store/rows.ts';
import { openFixture, type Fixture } from './fixture.ts';
import { newId } from '../rig/ids.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[cluster]\nname = "north.example"\n' });
});
afterEach(() => fixture.close());

const message = {
  id: newId(1),
  accountId: newId(2),
  domainId: newId(3),
  from: 'a@acme.example',
  to: ['t@receiver.example'],
  cc: ['c@receiver.example'],
  replyTo: ['r@acme.example'],
  subject: 'Subject',
  messageId: '<m@acme.example>',
  createdAt: 1_768_478_400_000,
} as unknown as Message;

const mac = (label: string) => (text: string) => fixture.ctx.secrets.mac(label, text);

test('each field of the message and its content is handed to the composer under its name', () => {
  const body = {
    html: '<p>',
    text: 'text',
    headers: [['X-A', '1']],
    attachments: [{ filename: 'f' }],
    raw: null,
  } as unknown as Body;
  expect(composeInputOf(fixture.ctx, message, body)).toEqual({
    from: message.from,
    to: message.to,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    html: body.html,
    text: body.text,
    headers: body.headers,
    attachments: body.attachments,
    messageId: message.messageId,
    date: new Date('2026-01-15T12:00:00.000Z'),
    feedbackId: feedbackIdOf(fixture.ctx, message),
  });
});

test('a Feedback-ID has four fields, of which the first finds the message', () => {
  const first = encodeReturnPath(message.id, mac('feedback-id'));
  const text = `${first}:${message.accountId}:${message.domainId}:north.example`;
  expect(feedbackIdOf(fixture.ctx, message)).toBe(text);
  const none = { ...message, domainId: null };
  expect(feedbackIdOf(fixture.ctx, none)).toBe(`${first}:${message.accountId}::north.example`);
  const found = (id: string | null) => messageOfFeedbackId(fixture.ctx, id);
  expect([found(text), found(` ${first} `), found(first)]).toEqual(Array(3).fill(message.id));
  const foreign = encodeReturnPath(message.id, mac('return-path'));
  for (const other of [
    null,
    '',
    'campaign:acme:bulk:north.example',
    `${foreign}:a:b:north.example`,
  ])
    expect(found(other)).toBeNull();
});

test('a return path of ours names its recipient with or without a domain, and the first that does counts', () => {
  const [one, two] = [newId(4), newId(5)];
  const path = (id: string) => encodeReturnPath(id, mac('return-path'));
  const of = (address: string) => recipientOfReturnPath(fixture.ctx, address);
  expect([of(path(one)), of(`${path(one)}@x.example`), of(`${path(one)}@`)]).toEqual([
    one,
    one,
    one,
  ]);
  expect([of(`x@${path(one)}`), of(`@${path(one)}`), of('')]).toEqual([null, null, null]);
  expect(of(`${encodeReturnPath(one, mac('feedback-id'))}@x.example`)).toBeNull();
  const any = recipientOfAny(fixture.ctx, [null, 'x@y.example', path(two), path(one)]);
  expect([any, recipientOfAny(fixture.ctx, [null])]).toEqual([two, null]);
});
