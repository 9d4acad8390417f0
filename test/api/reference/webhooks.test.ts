/**
 * The `webhooks` of the document against what is posted: the bodies that flow/events.ts writes, the headers that
 * flow/webhooks/signing.ts makes.
 */
import { expect, test } from 'bun:test';
import { documentOf } from '../../../src/api/reference/document.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { IdSource } from '../../../src/base/ids.ts';
import type { EventType } from '../../../src/base/status.ts';
import { newEvent, type EventExtra } from '../../../src/flow/events.ts';
import { newSigningSecret, signatureHeaders } from '../../../src/flow/webhooks/signing.ts';
import { Schemas, type OpenApi } from './json-schema.ts';

const document = JSON.parse(JSON.stringify(documentOf(ROUTES))) as OpenApi;
const schemas = new Schemas(document);
const ids = new IdSource();
const NOW = Date.UTC(2026, 10, 21);

const EXTRAS: Partial<Record<EventType, EventExtra>> = {
  'email.bounced': { bounce: { type: 'Permanent', subType: 'NoEmail', message: '550 no' } },
  'email.delivery_delayed': {
    delay: { message: '451 later', attempt: 1, next_attempt_at: new Date(NOW).toISOString() },
  },
  'email.failed': { failed: { reason: 'no server' } },
  'email.complained': { complaint: { feedback_type: 'abuse' } },
};

const TYPES = [
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.complained',
  'email.failed',
] as const satisfies EventType[];

test('every event that is posted has a schema, and so has the test', () => {
  expect(Object.keys(document.webhooks).toSorted()).toEqual([...TYPES, 'webhook.test'].toSorted());
});

test.each(TYPES)('%s is posted as the document says', (type) => {
  const message = {
    id: ids.next(NOW),
    accountId: ids.next(NOW),
    from: 'Shop <shop@example.com>',
    to: ['ann@example.com'],
    subject: 'Your receipt',
    tags: [{ name: 'kind', value: 'receipt' }],
    messageId: '<1@example.com>',
    eventHeaders: [['X-Tags', 'a']] as [string, string][],
    createdAt: NOW,
  };
  const event = newEvent(
    { clock: systemClock, ids, subscribers: { mayHave: () => true } },
    {
      message,
      recipient: { id: ids.next(NOW), address: 'ann@example.com' },
      type,
      occurredAt: NOW,
      payload: null,
      extra: EXTRAS[type] ?? null,
    },
  );
  const schema = document.webhooks[type]?.post.requestBody?.content['application/json']?.schema;
  expect(schema).toBeDefined();
  expect(schemas.faults(schema ?? {}, JSON.parse(event.webhookBody ?? ''))).toBe('');
});

test('every header that signs is described, and no other', () => {
  const sent = signatureHeaders({ id: 'x', now: NOW, body: '{}', secrets: [newSigningSecret()] });
  for (const { post } of Object.values(document.webhooks)) {
    expect(post.parameters?.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(sent).toSorted(),
    );
  }
});
