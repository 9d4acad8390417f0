/** Which calls an event becomes, by table, and when its body is kept. */
import { expect, test } from 'bun:test';

import { callId } from '../../src/store/call-id.ts';
import { callFor, keptBody, subscriberOf } from '../../src/store/event-calls.ts';
import { newEndpoint, newEvent, newMessage } from './samples.ts';

const { message } = newMessage('a');
const bounced = newEvent(message, null, 'email.bounced');
const queued = newEvent(message, null, 'email.queued');

const cases: [what: string, change: Parameters<typeof newEndpoint>[1], status: string | null][] = [
  ['every event', { events: [] }, 'open'],
  ['this one among others', { events: ['email.sent', 'email.bounced'] }, 'open'],
  ['others only', { events: ['email.sent'] }, null],
  ['disabled: as one that failed', { status: 'disabled' }, 'failed'],
  ['disabled, and others only', { status: 'disabled', events: ['email.sent'] }, null],
];
test.each(cases)('an endpoint that wants %s', (_what, change, status) => {
  const endpoint = newEndpoint('a', change);
  const call = callFor(bounced, subscriberOf(endpoint), 7);
  if (status === null) {
    expect(call).toBeNull();
    return;
  }
  expect(call).toEqual({
    id: callId(bounced.id, endpoint.id),
    endpointId: endpoint.id,
    eventId: bounced.id,
    eventType: 'email.bounced',
    messageId: message.id,
    status: status === 'open' ? 'open' : 'failed',
    nextAttemptAt: status === 'open' ? 7 : null,
  });
});

test('an event without a webhook becomes no call', () => {
  expect(callFor(queued, subscriberOf(newEndpoint('a')), 7)).toBeNull();
});

test('the body is kept for whom could ask for it, whatever it wants now', () => {
  const picky = subscriberOf(newEndpoint('a', { events: ['email.sent'] }));
  expect(keptBody(bounced, [])).toBeNull();
  expect(keptBody(bounced, [picky])).toBe(bounced.webhookBody);
  expect(keptBody(queued, [picky])).toBeNull();
});
