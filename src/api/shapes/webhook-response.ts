/**
 * Webhook endpoints and their deliveries as the API returns them, in both spellings.
 *
 * Promises that a signing secret is in the response that creates it and in no other.
 */
import { Type, type Static } from '@sinclair/typebox';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import type { CallAttempt, Endpoint } from '../../store/rows.ts';
import { Id, iso, isoOrNull, nullable, Time, words } from './common.ts';

const Events = Type.Array(words(WEBHOOK_EVENTS), {
  description: 'Every event when empty.',
  examples: [['email.delivered', 'email.bounced']],
});
const Url = Type.String({ examples: ['https://hooks.example.com/mail'] });

export const Webhook = Type.Object(
  {
    object: Type.Literal('webhook'),
    id: Id,
    url: Url,
    endpoint: Url,
    events: Events,
    status: words(['active', 'disabled']),
    failure_count: Type.Integer(),
    last_failure_at: nullable(Time),
    created_at: Time,
  },
  { title: 'Webhook' },
);

export const CreatedWebhook = Type.Object(
  {
    object: Type.Literal('webhook'),
    id: Id,
    url: Url,
    endpoint: Url,
    events: Events,
    signing_secret: Type.String({ description: 'Begins with `whsec_`. Shown once.' }),
    secret: Type.String({ description: 'The same as `signing_secret`.' }),
    created_at: Time,
  },
  { title: 'CreatedWebhook' },
);

export const WebhookDelivery = Type.Object(
  {
    id: Id,
    event_type: Type.String(),
    message_id: nullable(Id),
    attempt: Type.Integer(),
    status_code: nullable(Type.Integer()),
    ok: Type.Boolean(),
    error: nullable(Type.String()),
    duration_ms: nullable(Type.Integer()),
    created_at: Time,
  },
  { title: 'WebhookDelivery' },
);

/** One endpoint. */
export function webhook(endpoint: Endpoint): Static<typeof Webhook> {
  return {
    object: 'webhook',
    id: endpoint.id,
    url: endpoint.url,
    endpoint: endpoint.url,
    events: endpoint.events as Static<typeof Events>,
    status: endpoint.status,
    failure_count: endpoint.failureCount,
    last_failure_at: isoOrNull(endpoint.lastFailureAt),
    created_at: iso(endpoint.createdAt),
  };
}

/** An endpoint that was just created, with its secret. */
export function createdWebhook(endpoint: Endpoint, secret: string): Static<typeof CreatedWebhook> {
  return {
    object: 'webhook',
    id: endpoint.id,
    url: endpoint.url,
    endpoint: endpoint.url,
    events: endpoint.events as Static<typeof Events>,
    signing_secret: secret,
    secret,
    created_at: iso(endpoint.createdAt),
  };
}

/** One delivery attempt. */
export function webhookDelivery(attempt: CallAttempt): Static<typeof WebhookDelivery> {
  return {
    id: attempt.id,
    event_type: attempt.eventType,
    message_id: attempt.messageId,
    attempt: attempt.attempt,
    status_code: attempt.statusCode,
    ok: attempt.ok,
    error: attempt.error,
    duration_ms: attempt.durationMs,
    created_at: iso(attempt.createdAt),
  };
}
