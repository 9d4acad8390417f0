/**
 * Webhook endpoints over HTTP: register, list, retrieve, remove.
 *
 * The work is in flow/webhooks; here are the two spellings of the URL and the shapes.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed } from '../../base/errors.ts';
import { WEBHOOK_EVENTS } from '../../base/status.ts';
import {
  addEndpoint,
  getEndpoint,
  listEndpoints,
  removeEndpoint,
} from '../../flow/webhooks/endpoints.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { bodyOf, refusalFor } from '../shapes/check.ts';
import { deletion, wholeList, wholePage, words } from '../shapes/common.ts';
import { WholeListQuery } from '../shapes/query.ts';
import { createdWebhook, CreatedWebhook, webhook, Webhook } from '../shapes/webhook-response.ts';

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
        Type.Array(words(WEBHOOK_EVENTS), { description: 'Every event when omitted or empty.' }),
      ),
    },
    { title: 'CreateWebhook', anyOf: [{ required: ['endpoint'] }, { required: ['url'] }] },
  ),
);

export const webhookRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/webhooks',
    access: 'full',
    isLiveOnly: true,
    body: CreateWebhook,
    text: {
      id: 'createWebhook',
      clauses: ['C12.2', 'C12.3', 'C12.4', 'C12.5'],
      tag: TAG,
      summary: 'Register a webhook endpoint',
    },
    success: {
      status: 201,
      schema: CreatedWebhook,
      description: 'The endpoint with its secret, which is shown only in this response.',
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
    query: WholeListQuery,
    text: { id: 'listWebhooks', clauses: ['C12.6'], tag: TAG, summary: 'List webhook endpoints' },
    success: { status: 200, schema: wholeList(Webhook), description: 'All endpoints.' },
    async handle({ api: { ctx }, identity, query }) {
      const { account, key } = identity;
      const endpoints = key.isTest ? [] : await listEndpoints(ctx, account.id);
      return { status: 200, body: wholePage(endpoints.map(webhook), query) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/webhooks/:id',
    access: 'full',
    isLiveOnly: true,
    text: {
      id: 'getWebhook',
      clauses: ['C12.6'],
      tag: TAG,
      summary: 'Retrieve a webhook endpoint',
    },
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
    isLiveOnly: true,
    text: {
      id: 'removeWebhook',
      clauses: ['C12.7'],
      tag: TAG,
      summary: 'Remove a webhook endpoint',
    },
    success: { status: 200, schema: deletion('webhook', 'deleted'), description: 'Removed.' },
    async handle(call) {
      const id = endpointId(call);
      const { ctx, engines } = call.api;
      await removeEndpoint(ctx, engines.webhooks, call.identity.account.id, id);
      return { status: 200, body: { object: 'webhook', id, deleted: true, status: 'deleted' } };
    },
  }),
];

/** The URL in either spelling. Throws `validation_failed` when the two differ. */
export function urlOf(body: { endpoint?: string; url?: string }): string | undefined {
  if (body.endpoint !== undefined && body.url !== undefined && body.endpoint !== body.url) {
    throw validationFailed([
      { path: 'url', message: 'url and endpoint must be equal. Send one of them.' },
    ]);
  }
  return body.endpoint ?? body.url;
}

/** The id in the path. */
export function endpointId({ params }: Pick<Call, 'params'>): string {
  return params['id'] ?? '';
}
