/**
 * API keys over HTTP: make, list, rename, revoke.
 *
 * Promises that a sandbox key can only make sandbox keys, so that it never turns into a live one. A key
 * may revoke itself; that request is still answered.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed } from '../base/errors.ts';
import { createKey, renameKey, revokeKey } from '../flow/keys.ts';
import { defineRoute, type Route } from './route.ts';
import { bodyOf } from './shapes/check.ts';
import { deletion, Id, whole, wholeList, words } from './shapes/common.ts';
import {
  apiKey,
  ApiKey,
  createdApiKey,
  CreatedApiKey,
  permissionOf,
  PERMISSIONS,
  SCOPES,
} from './shapes/key-answers.ts';

const TAG = 'API keys';

const CreateKey = bodyOf(
  Type.Object(
    {
      name: Type.String({ minLength: 1, description: '1 to 60 characters.', examples: ['Shop'] }),
      permission: Type.Optional(words(PERMISSIONS)),
      scope: Type.Optional(words(SCOPES)),
      domain_id: Type.Optional(Type.Unknown({ description: 'Not supported; refused.' })),
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
    text: { tag: TAG, summary: 'Create an API key' },
    success: { status: 201, schema: CreatedApiKey, description: 'The only answer with the key.' },
    async handle({ api: { ctx }, identity, body }) {
      if (body.domain_id !== undefined) {
        const message = 'domain_id is not supported: a key is not bound to a domain.';
        throw validationFailed([{ path: 'domain_id', message }]);
      }
      const fromScope = body.scope === undefined ? undefined : permissionOf(body.scope);
      if (
        fromScope !== undefined &&
        body.permission !== undefined &&
        fromScope !== body.permission
      ) {
        throw validationFailed([{ path: 'scope', message: 'scope and permission must agree.' }]);
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
    text: { tag: TAG, summary: 'List API keys' },
    success: { status: 200, schema: wholeList(ApiKey), description: 'All keys, revoked ones too.' },
    async handle({ api: { ctx }, identity }) {
      const keys = await ctx.store.keys(identity.account.id);
      return { status: 200, body: whole(keys.map(apiKey)) };
    },
  }),
  defineRoute({
    method: 'PATCH',
    path: '/api-keys/:id',
    access: 'full',
    body: RenameKey,
    text: { tag: TAG, summary: 'Rename an API key' },
    success: {
      status: 200,
      schema: Type.Object({ object: Type.Literal('api_key'), id: Id }),
      description: 'Renamed.',
    },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await renameKey(call.api.ctx, call.identity.account.id, id, call.body.name);
      return { status: 200, body: { object: 'api_key', id } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api-keys/:id',
    access: 'full',
    text: { tag: TAG, summary: 'Revoke an API key' },
    success: { status: 200, schema: deletion('api_key', 'revoked'), description: 'Revoked.' },
    async handle(call) {
      const id = call.params['id'] ?? '';
      await revokeKey(call.api.ctx, call.identity.account.id, id);
      return { status: 200, body: { object: 'api_key', id, deleted: true, status: 'revoked' } };
    },
  }),
];
