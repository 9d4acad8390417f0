/**
 * Webhook endpoints over HTTP, after they exist: change, enable, deliveries, test, replay, new secret.
 *
 * Promises that a test never disables an endpoint and that a replay repeats the id and the bytes of the event.
 */
import { Type } from '@sinclair/typebox';
import { wallTime } from '../../base/clock.ts';
import { ApiError, validationFailed } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { readTime } from '../../base/iso-time.ts';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import {
  enableEndpoint,
  getEndpoint,
  rotateEndpointSecret,
  updateEndpoint,
} from '../../flow/webhooks/endpoints.ts';
import { replayCalls } from '../../flow/webhooks/dispatcher.ts';
import { defineRoute, type RouteResult, type Call, type Route } from './route.ts';
import { bodyOf } from '../shapes/check.ts';
import { Id, iso, nullable, paged, pagedList, Time, words } from '../shapes/common.ts';
import { count, CursorFields, pageOfQuery, queryOf } from '../shapes/query.ts';
import { webhook, Webhook, webhookDelivery, WebhookDelivery } from '../shapes/webhook-response.ts';
import { endpointId, urlOf } from './webhooks.ts';

const TAG = 'Webhooks';
/** Each test calls a server of someone else. */
const TESTS_PER_MINUTE = 60;
const DeliveryQuery = queryOf(Type.Object({ limit: count(1, 100, 50), ...CursorFields }));

const ChangeWebhook = bodyOf(
  Type.Object(
    {
      endpoint: Type.Optional(Type.String({ description: 'A public https URL.' })),
      url: Type.Optional(Type.String({ description: 'Older spelling of `endpoint`.' })),
      events: Type.Optional(Type.Array(words(WEBHOOK_EVENTS))),
      status: Type.Optional(words(['active', 'enabled', 'disabled'])),
    },
    { title: 'ChangeWebhook' },
  ),
);

const Replay = bodyOf(
  Type.Object(
    {
      event_id: Type.Optional(
        Type.String({ description: 'The `webhook-id` of the event to replay.' }),
      ),
      since: Type.Optional(
        Type.String({
          description: 'A time in ISO 8601: replays everything that failed since then.',
        }),
      ),
    },
    { title: 'ReplayWebhook', oneOf: [{ required: ['event_id'] }, { required: ['since'] }] },
  ),
);

const TestResult = Type.Object(
  {
    id: Id,
    ok: Type.Boolean(),
    status_code: nullable(Type.Integer()),
    duration_ms: Type.Integer(),
    error: Type.Optional(Type.String()),
  },
  { title: 'TestResult' },
);

const NewSecret = Type.Object({
  object: Type.Literal('webhook'),
  id: Id,
  signing_secret: Type.String({ description: 'Shown once.' }),
  secret: Type.String({ description: 'The same as `signing_secret`.' }),
  previous_valid_until: Time,
});

export const webhookCallRoutes: readonly Route[] = [
  defineRoute({
    method: 'PATCH',
    path: '/webhooks/:id',
    access: 'full',
    isLiveOnly: true,
    body: ChangeWebhook,
    text: {
      id: 'changeWebhook',
      clauses: ['C12.12'],
      tag: TAG,
      summary: 'Change a webhook endpoint',
    },
    success: { status: 200, schema: Webhook, description: 'The changed endpoint.' },
    async handle(call) {
      const { ctx, engines } = call.api;
      const { events, status } = call.body;
      const url = urlOf(call.body);
      const accountId = call.identity.account.id;
      const endpoint = await updateEndpoint(ctx, engines.webhooks, accountId, endpointId(call), {
        ...(url !== undefined && { url }),
        ...(events !== undefined && { events }),
        ...(status !== undefined && { status: status === 'disabled' ? 'disabled' : 'active' }),
      });
      return { status: 200, body: webhook(endpoint) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/enable',
    access: 'full',
    isLiveOnly: true,
    text: {
      id: 'enableWebhook',
      clauses: ['C12.8'],
      tag: TAG,
      summary: 'Enable a webhook endpoint',
    },
    success: {
      status: 200,
      schema: Type.Object({ id: Id, status: Type.Literal('active') }),
      description: 'The endpoint receives events again.',
    },
    async handle(call) {
      const { ctx, engines } = call.api;
      const id = endpointId(call);
      await enableEndpoint(ctx, engines.webhooks, call.identity.account.id, id);
      return { status: 200, body: { id, status: 'active' } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    access: 'full',
    isLiveOnly: true,
    query: DeliveryQuery,
    text: {
      id: 'listWebhookDeliveries',
      clauses: ['C12.10'],
      tag: TAG,
      summary: 'List delivery attempts',
    },
    success: {
      status: 200,
      schema: pagedList(WebhookDelivery),
      description: 'Attempts, newest first.',
    },
    async handle(call) {
      const { ctx } = call.api;
      const endpoint = await getEndpoint(ctx, call.identity.account.id, endpointId(call));
      const page = await ctx.store.callAttempts(endpoint.id, pageOfQuery(call.query));
      return { status: 200, body: paged(page, ({ id }) => id, webhookDelivery) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/test',
    access: 'full',
    isLiveOnly: true,
    perMinute: TESTS_PER_MINUTE,
    text: {
      id: 'testWebhook',
      clauses: ['C12.11'],
      tag: TAG,
      summary: 'Send a signed test delivery',
    },
    success: { status: 200, schema: TestResult, description: 'What the endpoint returned.' },
    async handle(call) {
      const accountId = call.identity.account.id;
      const result = await call.api.engines.webhooks.test(accountId, endpointId(call));
      const body = {
        id: result.id,
        ok: result.ok,
        status_code: result.statusCode,
        duration_ms: result.durationMs,
        ...(result.error !== null && { error: result.error }),
      };
      return { status: 200, body };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/replay',
    access: 'full',
    isLiveOnly: true,
    body: Replay,
    text: {
      id: 'replayWebhookEvents',
      clauses: ['C12.12'],
      tag: TAG,
      summary: 'Deliver events again',
    },
    success: {
      status: 200,
      schema: Type.Object({ id: Id, replayed: Type.Integer() }),
      description: 'The number of events scheduled for delivery again.',
    },
    async handle(call) {
      const { ctx, engines } = call.api;
      const id = endpointId(call);
      const what = replayed(call.body);
      const count = await replayCalls(ctx, engines.webhooks, call.identity.account.id, id, what);
      return { status: 200, body: { id, replayed: count } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/events/:event/replay',
    access: 'full',
    isLiveOnly: true,
    text: {
      id: 'replayWebhookEvent',
      clauses: ['C12.12'],
      tag: TAG,
      summary: 'Deliver one event again (client library path)',
    },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('webhook_event'), id: Id }),
      description: 'The event is scheduled for delivery again.',
    },
    async handle(call) {
      const { ctx, engines } = call.api;
      const eventId = call.params['event'] ?? '';
      const what = { eventId };
      const accountId = call.identity.account.id;
      const count = await replayCalls(ctx, engines.webhooks, accountId, endpointId(call), what);
      if (count === 0) throw new ApiError('not_found', 'This endpoint has no such event.');
      return { status: 200, body: { object: 'webhook_event', id: eventId } };
    },
  }),
  secretRoute('rotateWebhookSecret', '/webhooks/:id/rotate-secret', 'Rotate the signing secret'),
  secretRoute(
    'rotateWebhookSigningSecret',
    '/webhooks/:id/signing-secret/rotate',
    'Rotate the signing secret (client library path)',
  ),
];

function secretRoute(id: string, path: string, summary: string): Route {
  return defineRoute({
    method: 'POST',
    path,
    access: 'full',
    isLiveOnly: true,
    text: {
      id,
      clauses: ['C12.12'],
      tag: TAG,
      summary,
      description:
        'Calls carry signatures of the old and the new secret for 24 hours; `service-signature` is made with the old ' +
        'one until `previous_valid_until`.',
    },
    success: {
      status: 200,
      schema: NewSecret,
      description: 'The new secret, which is shown only in this response.',
    },
    handle: rotate,
  });
}

async function rotate(call: Call<undefined, undefined>): Promise<RouteResult> {
  const { ctx, engines } = call.api;
  const id = endpointId(call);
  const accountId = call.identity.account.id;
  const { secret, previousUntil } = await rotateEndpointSecret(
    ctx,
    engines.webhooks,
    accountId,
    id,
  );
  return {
    status: 200,
    body: {
      object: 'webhook',
      id,
      signing_secret: secret,
      secret,
      previous_valid_until: iso(wallTime(ctx.clock, previousUntil)),
    },
  };
}

/** What to replay: one event or all failures since a time. Throws `validation_failed` unless exactly one is set. */
function replayed(body: {
  event_id?: string;
  since?: string;
}): { eventId: string } | { failedSince: number } {
  if ((body.event_id === undefined) === (body.since === undefined)) {
    throw validationFailed([{ path: 'event_id', message: 'Send either event_id or since.' }]);
  }
  if (body.event_id !== undefined) {
    if (isId(body.event_id)) return { eventId: body.event_id };
    throw validationFailed([{ path: 'event_id', message: 'event_id must be the id of an event.' }]);
  }
  const since = body.since?.includes('T') === true ? readTime(body.since) : null;
  if (since === null) {
    const message = 'since must be a time in ISO 8601, such as 2026-11-21T09:30:00Z.';
    throw validationFailed([{ path: 'since', message }]);
  }
  return { failedSince: since };
}
