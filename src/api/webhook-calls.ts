/**
 * What happens at a webhook endpoint, over HTTP: deliveries, test, enable, change, replay, new secret.
 *
 * Promises that a test never disables an endpoint and that a replay repeats the event's id and bytes.
 */
import { Type } from '@sinclair/typebox';
import { ApiError, validationFailed } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { WEBHOOK_EVENTS } from '../base/status.ts';
import {
  enableEndpoint,
  getEndpoint,
  rotateEndpointSecret,
  updateEndpoint,
} from '../flow/endpoints.ts';
import { replayCalls } from '../flow/webhooks.ts';
import { defineRoute, type Answer, type Call, type Route } from './route.ts';
import { bodyOf } from './shapes/check.ts';
import { Id, iso, nullable, paged, pagedList, Time, words } from './shapes/common.ts';
import { count, CursorFields, pageOfQuery, queryOf } from './shapes/query.ts';
import { webhook, Webhook, webhookDelivery, WebhookDelivery } from './shapes/webhook-answers.ts';
import { endpointId, urlOf } from './webhooks.ts';

const TAG = 'Webhooks';
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
      event_id: Type.Optional(Type.String({ description: 'The `webhook-id` of one event.' })),
      since: Type.Optional(
        Type.String({ description: 'ISO 8601: everything that failed since then.' }),
      ),
    },
    { title: 'ReplayWebhook' },
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
    body: ChangeWebhook,
    text: { tag: TAG, summary: 'Change a webhook endpoint' },
    success: { status: 200, schema: Webhook, description: 'The endpoint after the change.' },
    async handle(call) {
      const { ctx, doors } = call.api;
      const { events, status } = call.body;
      const url = urlOf(call.body);
      const accountId = call.identity.account.id;
      const endpoint = await updateEndpoint(ctx, doors.webhooks, accountId, endpointId(call), {
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
    text: { tag: TAG, summary: 'Enable a webhook endpoint' },
    success: {
      status: 200,
      schema: Type.Object({ id: Id, status: Type.Literal('active') }),
      description: 'It receives events again.',
    },
    async handle(call) {
      const { ctx, doors } = call.api;
      const id = endpointId(call);
      await enableEndpoint(ctx, doors.webhooks, call.identity.account.id, id);
      return { status: 200, body: { id, status: 'active' } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    access: 'full',
    query: DeliveryQuery,
    text: { tag: TAG, summary: 'List delivery attempts' },
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
    text: { tag: TAG, summary: 'Send a signed test delivery' },
    success: { status: 200, schema: TestResult, description: 'What the endpoint answered.' },
    async handle(call) {
      const accountId = call.identity.account.id;
      const result = await call.api.doors.webhooks.test(accountId, endpointId(call));
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
    body: Replay,
    text: { tag: TAG, summary: 'Deliver events again' },
    success: {
      status: 200,
      schema: Type.Object({ id: Id, replayed: Type.Integer() }),
      description: 'How many deliveries were opened again.',
    },
    async handle(call) {
      const { ctx, doors } = call.api;
      const id = endpointId(call);
      const what = replayed(call.body);
      const count = await replayCalls(ctx, doors.webhooks, call.identity.account.id, id, what);
      return { status: 200, body: { id, replayed: count } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/webhooks/:id/events/:event/replay',
    access: 'full',
    text: { tag: TAG, summary: 'Deliver one event again (library path)' },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('webhook_event'), id: Id }),
      description: 'It is on its way again.',
    },
    async handle(call) {
      const { ctx, doors } = call.api;
      const eventId = call.params['event'] ?? '';
      const what = { eventId };
      const accountId = call.identity.account.id;
      const count = await replayCalls(ctx, doors.webhooks, accountId, endpointId(call), what);
      if (count === 0) throw new ApiError('not_found', 'This endpoint has no such event.');
      return { status: 200, body: { object: 'webhook_event', id: eventId } };
    },
  }),
  secretRoute('/webhooks/:id/rotate-secret', 'Make a new signing secret'),
  secretRoute('/webhooks/:id/signing-secret/rotate', 'Make a new signing secret (library path)'),
];

function secretRoute(path: string, summary: string): Route {
  return defineRoute({
    method: 'POST',
    path,
    access: 'full',
    text: { tag: TAG, summary, description: 'The old secret signs beside the new one for a day.' },
    success: { status: 200, schema: NewSecret, description: 'The only answer with the secret.' },
    handle: rotate,
  });
}

async function rotate(call: Call<undefined, undefined>): Promise<Answer> {
  const { ctx, doors } = call.api;
  const id = endpointId(call);
  const accountId = call.identity.account.id;
  const { secret, previousUntil } = await rotateEndpointSecret(ctx, doors.webhooks, accountId, id);
  return {
    status: 200,
    body: {
      object: 'webhook',
      id,
      signing_secret: secret,
      secret,
      previous_valid_until: iso(previousUntil),
    },
  };
}

/** What to replay. Exactly one of the two fields names it. */
function replayed(body: {
  event_id?: string;
  since?: string;
}): { eventId: string } | { failedSince: number } {
  if ((body.event_id === undefined) === (body.since === undefined)) {
    throw validationFailed([{ path: 'event_id', message: 'Send event_id or since, one of them.' }]);
  }
  if (body.event_id !== undefined) {
    if (isId(body.event_id)) return { eventId: body.event_id };
    throw validationFailed([{ path: 'event_id', message: 'event_id must be the id of an event.' }]);
  }
  const since = /^\d{4}-\d\d-\d\dT/.test(body.since ?? '') ? Date.parse(body.since ?? '') : NaN;
  if (Number.isNaN(since)) {
    const message = 'since must be an ISO 8601 time.';
    throw validationFailed([{ path: 'since', message }]);
  }
  return { failedSince: since };
}
