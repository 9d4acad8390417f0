/**
 * Webhook endpoints over HTTP: register, list, look at, remove.
 *
 * The work is in `flow/endpoints.ts`; here are the two spellings of the URL and the shapes.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed } from '../base/errors.ts';
import { WEBHOOK_EVENTS } from '../base/status.ts';
import { addEndpoint, getEndpoint, listEndpoints, removeEndpoint } from '../flow/endpoints.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { bodyOf, refusalFor } from './shapes/check.ts';
import { deletion, whole, wholeList, words } from './shapes/common.ts';
import { createdWebhook, CreatedWebhook, webhook, Webhook } from './shapes/webhook-answers.ts';

const TAG = 'Webhooks';

const CreateWebhook = bodyOf(
  Type.Object(
    {
      endpoint: Type.Optional(
        Type.String({
          description: 'A public https URL.',
          examples: ['https://hooks.example.com/mail'],
        }),
      ),
      url: Type.Optional(Type.String({ description: 'Older spelling of `endpoint`.' })),
      events: Type.Optional(
        Type.Array(words(WEBHOOK_EVENTS), { description: 'Omitted or empty: every event.' }),
      ),
    },
    { title: 'CreateWebhook' },
  ),
);

export const webhookRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/webhooks',
    access: 'full',
    body: CreateWebhook,
    text: { tag: TAG, summary: 'Register a webhook endpoint' },
    success: {
      status: 201,
      schema: CreatedWebhook,
      description: 'The only answer with the secret.',
    },
    async handle({ api: { ctx }, identity, body }) {
      const url = urlOf(body);
      if (url === undefined) {
        const message = 'Missing `endpoint` field.';
        throw refusalFor([{ path: 'endpoint', message, isMissing: true }]);
      }
      const events = body.events ?? [];
      const { endpoint, secret } = await addEndpoint(ctx, identity.account.id, { url, events });
      return { status: 201, body: createdWebhook(endpoint, secret) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks',
    access: 'full',
    text: { tag: TAG, summary: 'List webhook endpoints' },
    success: { status: 200, schema: wholeList(Webhook), description: 'All endpoints.' },
    async handle({ api: { ctx }, identity }) {
      const endpoints = await listEndpoints(ctx, identity.account.id);
      return { status: 200, body: whole(endpoints.map(webhook)) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id',
    access: 'full',
    text: { tag: TAG, summary: 'Retrieve a webhook endpoint' },
    success: { status: 200, schema: Webhook, description: 'The endpoint, without its secret.' },
    async handle(call) {
      const endpoint = await getEndpoint(call.api.ctx, call.identity.account.id, endpointId(call));
      return { status: 200, body: webhook(endpoint) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/webhooks/:id',
    access: 'full',
    text: { tag: TAG, summary: 'Remove a webhook endpoint' },
    success: { status: 200, schema: deletion('webhook', 'deleted'), description: 'Removed.' },
    async handle(call) {
      const id = endpointId(call);
      const { ctx, doors } = call.api;
      await removeEndpoint(ctx, doors.webhooks, call.identity.account.id, id);
      return { status: 200, body: { object: 'webhook', id, deleted: true, status: 'deleted' } };
    },
  }),
];

/** The URL in either spelling; both must agree. */
export function urlOf(body: { endpoint?: string; url?: string }): string | undefined {
  if (body.endpoint !== undefined && body.url !== undefined && body.endpoint !== body.url) {
    throw validationFailed([{ path: 'url', message: 'url and endpoint must be the same.' }]);
  }
  return body.endpoint ?? body.url;
}

/** The id in the path. */
export function endpointId({ params }: Pick<Call, 'params'>): string {
  return params['id'] ?? '';
}
