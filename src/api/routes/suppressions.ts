/**
 * Suppressions over HTTP: add, list, retrieve, remove.
 *
 * Promises that only manual suppressions can be removed over HTTP (403 otherwise). Addresses are compared without case;
 * a cursor is an address, or the id of a row as client libraries pass it, and stays valid when its row is removed.
 */
import { Type, type Static } from '@sinclair/typebox';
import { ApiError } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import {
  addSuppression,
  removeSuppression,
  suppressionAddress,
} from '../../flow/suppressions/suppressions.ts';
import { makeAddress } from '../../mail/header/address.ts';
import type { Suppression as Row } from '../../store/rows.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { bodyOf } from '../shapes/check.ts';
import { Id, paged, pagedList, words } from '../shapes/common.ts';
import {
  ORIGIN_WORDS,
  REASONS,
  reasonOf,
  suppression,
  Suppression,
} from '../shapes/suppression-response.ts';
import { count, pageOfQuery, queryOf, search } from '../shapes/query.ts';

const TAG = 'Suppressions';

const AddSuppression = bodyOf(
  Type.Object(
    {
      email: Type.String({ examples: ['ann@example.com'] }),
      reason: Type.Optional(words(REASONS)),
    },
    { title: 'AddSuppression' },
  ),
);

const Cursor = Type.Optional(
  Type.String({ description: 'The address in the last row of the previous page, or its id.' }),
);

const SuppressionQuery = queryOf(
  Type.Object({
    limit: count(1, 500, 100),
    after: Cursor,
    before: Cursor,
    q: Type.Optional(search('Part of the address.')),
    origin: Type.Optional(words(ORIGIN_WORDS, { description: 'Only rows with this origin.' })),
  }),
  (text) => isId(text) || !('error' in makeAddress(text)),
);

const Emails = bodyOf(
  Type.Object(
    { emails: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) },
    { title: 'Addresses' },
  ),
);

const Removed = Type.Object({
  object: Type.Literal('suppression'),
  id: Id,
  email: Type.String(),
  deleted: Type.Literal(true),
  status: Type.Literal('removed'),
});

export const suppressionRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/suppressions',
    access: 'full',
    isLiveOnly: true,
    body: AddSuppression,
    text: { id: 'addSuppression', clauses: ['C14.1'], tag: TAG, summary: 'Suppress an address' },
    success: {
      status: 201,
      schema: Suppression,
      description: 'The suppression. No email is sent to this address any more.',
    },
    async handle({ api: { ctx }, identity, body: { email, reason } }) {
      const row = await addSuppression(ctx, identity.account.id, {
        email,
        source: 'api',
        ...(reason !== undefined && { reason }),
      });
      return { status: 201, body: suppression(row) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/suppressions',
    access: 'full',
    query: SuppressionQuery,
    text: {
      id: 'listSuppressions',
      clauses: ['C14.2'],
      tag: TAG,
      summary: 'List suppressed addresses',
    },
    success: { status: 200, schema: pagedList(Suppression), description: 'A page, newest first.' },
    async handle({ api: { ctx }, identity, query }) {
      const { limit, after, before } = pageOfQuery(query);
      if (identity.key.isTest) {
        return { status: 200, body: paged({ rows: [], hasMore: false }, String, String) };
      }
      const page = await ctx.store.suppressions(
        identity.account.id,
        query.q ?? null,
        { limit, after: cursorOf(after, 'after'), before: cursorOf(before, 'before') },
        query.origin === undefined ? undefined : reasonOf(query.origin),
      );
      return { status: 200, body: paged(page, ({ email }) => email, suppression) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/suppressions/:email',
    access: 'full',
    isLiveOnly: true,
    text: { id: 'getSuppression', clauses: ['C14.6'], tag: TAG, summary: 'Retrieve a suppression' },
    success: { status: 200, schema: Suppression, description: 'The suppression with its reason.' },
    async handle(call) {
      return { status: 200, body: suppression(await rowOf(call)) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/suppressions/:email',
    access: 'full',
    isLiveOnly: true,
    text: {
      id: 'removeSuppression',
      clauses: ['C14.3', 'C14.4'],
      tag: TAG,
      summary: 'Remove a manual suppression',
    },
    success: {
      status: 200,
      schema: Removed,
      description: 'Removed. Email is sent to this address again.',
    },
    async handle(call) {
      const { id, email } = await rowOf(call);
      await removeSuppression(call.api.ctx, call.identity.account.id, email);
      return { status: 200, body: removed(id, email) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/suppressions/batch/add',
    access: 'full',
    isLiveOnly: true,
    body: Emails,
    text: {
      id: 'addSuppressions',
      clauses: ['C14.1'],
      tag: TAG,
      summary: 'Suppress up to 100 addresses',
    },
    success: {
      status: 200,
      schema: Type.Object({ data: Type.Array(Suppression) }),
      description: 'The suppressions, in the order of the request.',
    },
    async handle({ api: { ctx }, identity, body: { emails } }) {
      const { id } = identity.account;
      // All are checked before the first is written, so that one invalid address refuses the request.
      const addresses = emails.map((email, at) => suppressionAddress(email, `emails[${at}]`));
      const rows = await Promise.all(
        addresses.map((email) => addSuppression(ctx, id, { email, source: 'api' })),
      );
      return { status: 200, body: { data: rows.map(suppression) } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/suppressions/batch/remove',
    access: 'full',
    isLiveOnly: true,
    body: Emails,
    text: {
      id: 'removeSuppressions',
      clauses: ['C14.3', 'C14.4'],
      tag: TAG,
      summary: 'Remove up to 100 manual suppressions',
    },
    success: {
      status: 200,
      schema: Type.Object({ data: Type.Array(Removed) }),
      description: 'The removed suppressions. Addresses that were not suppressed are left out.',
    },
    async handle({ api: { ctx }, identity, body: { emails } }) {
      const { id } = identity.account;
      const addresses = emails.map((email, at) => suppressionAddress(email, `emails[${at}]`));
      const found = [...(await ctx.store.suppressed(id, addresses)).values()];
      const kept = found.find(({ reason }) => reason !== 'manual');
      // One that cannot be removed refuses the whole request, with the error of flow/suppressions.
      if (kept !== undefined) await removeSuppression(ctx, id, kept.email);
      await Promise.all(found.map(({ email }) => removeSuppression(ctx, id, email)));
      const data = found.map((row) => removed(row.id, row.email));
      return { status: 200, body: { data } };
    },
  }),
];

/** A cursor as the store knows it: an id, or an address in its stored spelling. */
function cursorOf(text: string | null, path: 'after' | 'before'): string | null {
  return text === null || isId(text) ? text : suppressionAddress(text, path);
}

/**
 * The suppression in the path, by address or, as client libraries do too, by id. Throws `not_found`, also when the text
 * is neither.
 */
async function rowOf({ api, identity, params }: Call<undefined, undefined>): Promise<Row> {
  const text = params['email'] ?? '';
  const { store } = api.ctx;
  let row: Row | null = null;
  if (isId(text)) row = await store.suppressionById(identity.account.id, text);
  else if (!('error' in makeAddress(text))) {
    row = await store.suppression(identity.account.id, suppressionAddress(text));
  }
  if (row === null) throw new ApiError('not_found', 'This address is not suppressed.');
  return row;
}

function removed(id: string, email: string): Static<typeof Removed> {
  return { object: 'suppression', id, email, deleted: true, status: 'removed' };
}
