/**
 * API keys over HTTP: create, list, rename, revoke.
 *
 * Promises that a sandbox key creates, lists, renames and revokes sandbox keys only, so that it never leads to a live
 * one. A key may revoke itself; the response to that request is still sent.
 */
import { Type } from '@sinclair/typebox';
import { ApiError, validationFailed } from '../../base/errors.ts';
import { createKey, renameKey, revokeKey } from '../../flow/accounts/keys.ts';
import type { ListPart } from '../../store/pages.ts';
import { listBody } from './long-list.ts';
import { defineRoute, type ApiParts, type Call, type Route } from './route.ts';
import { bodyOf } from '../shapes/check.ts';
import { deletion, Id, wholeList, words } from '../shapes/common.ts';
import { WholeListQuery } from '../shapes/query.ts';
import {
  apiKey,
  ApiKey,
  createdApiKey,
  CreatedApiKey,
  permissionOf,
  PERMISSIONS,
  SCOPES,
} from '../shapes/key-response.ts';

const TAG = 'API keys';

const CreateKey = bodyOf(
  Type.Object(
    {
      name: Type.String({ minLength: 1, description: '1 to 60 characters.', examples: ['Shop'] }),
      permission: Type.Optional(words(PERMISSIONS)),
      scope: Type.Optional(words(SCOPES)),
      domain_id: Type.Optional(Type.Unknown({ description: 'Not supported.' })),
    },
    { title: 'CreateApiKey' },
  ),
);

const RenameKey = bodyOf(
  Type.Object({ name: Type.String({ minLength: 1, description: '1 to 60 characters.' }) }),
);

export const keyRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/api-keys',
    access: 'full',
    body: CreateKey,
    text: {
      id: 'createApiKey',
      clauses: ['C11.2', 'C11.3', 'C11.7'],
      tag: TAG,
      summary: 'Create an API key',
    },
    success: {
      status: 201,
      schema: CreatedApiKey,
      description: 'The new key. Its text is shown only in this response.',
    },
    async handle({ api: { ctx }, identity, body }) {
      if (body.domain_id !== undefined) {
        const message = 'domain_id is not supported: a key works for every domain of its account.';
        throw validationFailed([{ path: 'domain_id', message }]);
      }
      const fromScope = body.scope === undefined ? undefined : permissionOf(body.scope);
      if (
        fromScope !== undefined &&
        body.permission !== undefined &&
        fromScope !== body.permission
      ) {
        throw validationFailed([
          {
            path: 'scope',
            message: 'scope and permission contradict each other. Send one of them.',
          },
        ]);
      }
      const { key, token } = await createKey(ctx, identity.account.id, {
        name: body.name,
        permission: body.permission ?? fromScope ?? 'sending_access',
        isTest: identity.key.isTest,
      });
      return { status: 201, body: createdApiKey(key, token) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/api-keys',
    access: 'full',
    query: WholeListQuery,
    text: { id: 'listApiKeys', clauses: ['C11.4'], tag: TAG, summary: 'List API keys' },
    success: {
      status: 200,
      schema: wholeList(ApiKey),
      description: 'All keys, including revoked ones.',
    },
    async handle({ api: { ctx }, identity, query }) {
      const { account, key } = identity;
      const read = (part: ListPart) =>
        key.isTest ? ctx.store.testKeys(account.id, part) : ctx.store.keys(account.id, part);
      return { status: 200, body: await listBody({ read, show: apiKey }, query, ctx.log) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api-keys/:id',
    access: 'full',
    body: RenameKey,
    text: { id: 'renameApiKey', clauses: ['C11.6'], tag: TAG, summary: 'Rename an API key' },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('api_key'), id: Id }),
      description: 'Renamed.',
    },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await refuseLive(call);
      await renameKey(call.api.ctx, call.identity.account.id, id, call.body.name);
      return { status: 200, body: { object: 'api_key', id } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api-keys/:id',
    access: 'full',
    text: { id: 'revokeApiKey', clauses: ['C11.5'], tag: TAG, summary: 'Revoke an API key' },
    success: { status: 200, schema: deletion('api_key', 'revoked'), description: 'Revoked.' },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await refuseLive(call);
      await revokeKey(call.api.ctx, call.identity.account.id, id);
      return { status: 200, body: { object: 'api_key', id, deleted: true, status: 'revoked' } };
    },
  }),
];

/** Throws `not_found` when a sandbox key names a live one. */
async function refuseLive({
  api,
  identity,
  params,
}: Pick<Call, 'identity' | 'params'> & { api: ApiParts }): Promise<void> {
  if (!identity.key.isTest) return;
  const key = await api.ctx.store.key(params['id'] ?? '');
  if (key?.isTest === true && key.accountId === identity.account.id) return;
  throw new ApiError('not_found', 'There is no such API key.');
}
