/**
 * The bytes of webhook bodies: the contract's fields, what our decisions add, and nothing for events that have
 * no webhook.
 */
import { describe, expect, test } from 'bun:test';

import { IdSource, idTime, isId } from '../../src/base/ids.ts';
import { type EventInput, eventHeadersOf, newEvent } from '../../src/flow/events.ts';
import { TestClock } from '../rig/clock.ts';

const clock = new TestClock(Date.UTC(2026, 10, 21, 3, 0, 0));
let hasEndpoints = true;
const ctx = { clock, ids: new IdSource(), subscribers: { mayHave: () => hasEndpoints } };
const input: EventInput = {
  message: {
    id: '01890000-0000-7000-8000-00000000000a',
    accountId: '01890000-0000-7000-8000-00000000000b',
    from: 'Büro <a@sender.example>',
    to: ['b@receiver.example', 'c@receiver.example'],
    subject: 'Line\u2028separator "quoted"',
    tags: [
      { name: 'kind', value: 'invoice' },
      { name: '__proto__', value: 'x' },
    ],
    eventHeaders: [],
    messageId: '<m@mail.rig.test>',
    createdAt: Date.UTC(2026, 10, 21, 2, 59, 0),
  },
  recipient: { id: '01890000-0000-7000-8000-00000000000c', address: 'b@receiver.example' },
  type: 'email.delivered',
  occurredAt: Date.UTC(2026, 10, 21, 2, 59, 30, 5),
  payload: { reply: '250 ok' },
  extra: null,
};

function bodyOf(change: Partial<EventInput>): Record<string, unknown> {
  return JSON.parse(newEvent(ctx, { ...input, ...change }).webhookBody ?? 'null');
}

describe('events', () => {
  test('the body has the fields of the contract and of our decisions, tags as an object', () => {
    const event = newEvent(ctx, input);
    expect(isId(event.id)).toBe(true);
    expect(event.webhookBody).toBe(
      '{"type":"email.delivered","created_at":"2026-11-21T02:59:30.005Z","data":{' +
        '"email_id":"01890000-0000-7000-8000-00000000000a","created_at":"2026-11-21T02:59:00.000Z",' +
        '"from":"Büro <a@sender.example>","to":["b@receiver.example"],' +
        '"subject":"Line\u2028separator \\"quoted\\"","message_id":"<m@mail.rig.test>",' +
        '"tags":{"kind":"invoice","__proto__":"x"},"recipient":"b@receiver.example"}}',
    );
    expect(event.payload).toBe('{"recipient":"b@receiver.example","reply":"250 ok"}');
    expect(event.recipientId).toBe('01890000-0000-7000-8000-00000000000c');
  });

  test.each([
    [
      'email.delivery_delayed',
      { delay: { message: '451', attempt: 1, next_attempt_at: '2026-11-21T03:00:00.000Z' } },
    ],
    ['email.failed', { failed: { reason: 'no route' } }],
    ['email.complained', { complaint: { feedback_type: 'abuse' } }],
  ] as const)('%s says what it is about', (type, extra) => {
    expect(bodyOf({ type, extra })).toMatchObject({ type, data: extra });
  });

  test('a bounce says the server’s reply, and the words by which receivers know a bounce', () => {
    const bounce = { type: 'Permanent', subType: 'NoEmail', message: '550 5.1.1 no' } as const;
    expect(bodyOf({ type: 'email.bounced', extra: { bounce } })).toMatchObject({
      data: { bounce: { ...bounce, message: '550 5.1.1 no (permanent bounce message)' } },
    });
  });

  test('tags and metadata of a client library come back as it sent them; other headers do not', () => {
    const long = 'x'.repeat(2_049);
    const sent: [string, string][] = [
      ['X-Tags', '["welcome"]'],
      ['x-metadata', '{"user":1}'],
      ['X-Metadata', long],
      ['X-Order', '7'],
    ];
    const eventHeaders = eventHeadersOf(sent);
    expect(eventHeaders).toEqual(sent.slice(0, 2));
    expect(bodyOf({ message: { ...input.message, eventHeaders } })).toMatchObject({
      data: {
        headers: [
          { name: 'X-Tags', value: '["welcome"]' },
          { name: 'x-metadata', value: '{"user":1}' },
        ],
      },
    });
    expect(bodyOf({})['data']).not.toHaveProperty('headers');
  });

  test.each(['email.queued', 'email.suppressed'] as const)('%s has no webhook', (type) => {
    expect(newEvent(ctx, { ...input, type }).webhookBody).toBeNull();
  });

  test('an account without endpoints has no webhook', () => {
    hasEndpoints = false;
    expect(newEvent(ctx, input).webhookBody).toBeNull();
    hasEndpoints = true;
    expect(newEvent(ctx, input).webhookBody).not.toBeNull();
  });

  test('an event of the whole message names no recipient and may have no payload', () => {
    const event = newEvent(ctx, { ...input, recipient: null, payload: null });
    expect([event.recipientId, event.payload]).toEqual([null, null]);
    const { to } = input.message;
    expect(bodyOf({ recipient: null })).toMatchObject({ data: { recipient: null, to } });
    // What is said of the message is no word of a recipient.
    const said = newEvent(ctx, { ...input, recipient: null, payload: { from: 'a' } });
    expect(said.payload).toBe('{"from":"a"}');
  });

  test('an event is of its message, happened when it is said, and has its id from the wall clock', () => {
    const behind = new TestClock(clock.now());
    behind.jump(-3_600_000);
    const own = { ...ctx, clock: behind, ids: new IdSource() };
    const { id, webhookBody: _, ...event } = newEvent(own, input);
    expect(event).toEqual({
      messageId: input.message.id,
      accountId: input.message.accountId,
      recipientId: input.recipient?.id ?? '',
      type: 'email.delivered',
      occurredAt: input.occurredAt,
      payload: '{"recipient":"b@receiver.example","reply":"250 ok"}',
    });
    expect(idTime(id)).toBe(behind.now());
  });
});

test('tags and metadata are repeated up to 2,048 bytes, whatever their characters', () => {
  const kept = (value: string): number => eventHeadersOf([['X-Metadata', value]]).length;
  expect([kept('a'.repeat(2_048)), kept('a'.repeat(2_049))]).toEqual([1, 0]);
  expect([kept('ü'.repeat(1_024)), kept('ü'.repeat(1_025))]).toEqual([1, 0]);
  expect(
    eventHeadersOf([
      ['x-TAGS', 'a'],
      ['X-Other', 'b'],
    ]),
  ).toEqual([['x-TAGS', 'a']]);
});
