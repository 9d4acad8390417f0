/**
 * Suppressions over HTTP: add, list, look at, remove.
 *
 * Promises that over HTTP only manual ones can be removed (403 otherwise). Addresses are matched without
 * regard to case; a cursor is an address and holds when its row has gone.
 */
import { Type, type Static } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { addSuppression, removeSuppression, suppressionAddress } from '../flow/suppressions.ts';
import { makeAddress } from '../mail/address.ts';
import type { Suppression as Row } from '../store/rows.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { bodyOf } from './shapes/check.ts';
import { Id, paged, pagedList, words } from './shapes/common.ts';
import { REASONS, suppression, Suppression } from './shapes/suppression-answers.ts';
import { count, pageOfQuery, queryOf, search } from './shapes/query.ts';

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
  Type.String({ description: 'Address of the last row of the page before.' }),
);

const SuppressionQuery = queryOf(
  Type.Object({
    limit: count(1, 500, 100),
    after: Cursor,
    before: Cursor,
    q: Type.Optional(search('Part of the address.')),
  }),
  (text) => !('error' in makeAddress(text)),
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
    body: AddSuppression,
    text: { tag: TAG, summary: 'Suppress an address' },
    success: {
      status: 201,
      schema: Suppression,
      description: 'Nothing is mailed there from now on.',
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
    text: { tag: TAG, summary: 'List suppressed addresses' },
    success: { status: 200, schema: pagedList(Suppression), description: 'A page, newest first.' },
    async handle({ api: { ctx }, identity, query }) {
      const { limit, after, before } = pageOfQuery(query);
      const page = await ctx.store.suppressions(identity.account.id, query.q ?? null, {
        limit,
        after: after === null ? null : suppressionAddress(after, 'after'),
        before: before === null ? null : suppressionAddress(before, 'before'),
      });
      return { status: 200, body: paged(page, ({ email }) => email, suppression) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/suppressions/:email',
    access: 'full',
    text: { tag: TAG, summary: 'Look an address up' },
    success: { status: 200, schema: Suppression, description: 'Why it is suppressed.' },
    async handle(call) {
      return { status: 200, body: suppression(await rowOf(call)) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/suppressions/:email',
    access: 'full',
    text: { tag: TAG, summary: 'Remove a manual suppression' },
    success: { status: 200, schema: Removed, description: 'Mail goes there again.' },
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
    body: Emails,
    text: { tag: TAG, summary: 'Suppress up to 100 addresses' },
    success: {
      status: 200,
      schema: Type.Object({ data: Type.Array(Suppression) }),
      description: 'The rows, in the order of the request.',
    },
    async handle({ api: { ctx }, identity, body: { emails } }) {
      const { id } = identity.account;
      // All are read before the first is written, so that one bad address refuses the request.
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
    body: Emails,
    text: { tag: TAG, summary: 'Remove up to 100 manual suppressions' },
    success: {
      status: 200,
      schema: Type.Object({ data: Type.Array(Removed) }),
      description: 'What was removed; addresses that were not suppressed are left out.',
    },
    async handle({ api: { ctx }, identity, body: { emails } }) {
      const { id } = identity.account;
      const addresses = emails.map((email, at) => suppressionAddress(email, `emails[${at}]`));
      const found = [...(await ctx.store.suppressed(id, addresses)).values()];
      const kept = found.find(({ reason }) => reason !== 'manual');
      // Refused as a whole, by the one sentence that says why.
      if (kept !== undefined) await removeSuppression(ctx, id, kept.email);
      await Promise.all(found.map(({ email }) => removeSuppression(ctx, id, email)));
      const data = found.map((row) => removed(row.id, row.email));
      return { status: 200, body: { data } };
    },
  }),
];

/**
 * The suppression that the path names, by its address or, as the client libraries allow too, by its id. Throws
 * `not_found`, also for what is no address.
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
