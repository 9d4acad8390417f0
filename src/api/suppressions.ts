/**
 * Suppressions over HTTP: add, list, look at, remove.
 *
 * Promises that over HTTP only manual ones can be removed (403 otherwise). Addresses are matched without
 * regard to case; a cursor is an address and holds when its row has gone.
 */
import { Type, type Static } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import type { SuppressionReason } from '../base/status.ts';
import { addSuppression, removeSuppression, suppressionAddress } from '../flow/suppressions.ts';
import { makeAddress } from '../mail/address.ts';
import type { Suppression as Row } from '../store/rows.ts';
import { defineRoute, type Call, type Route } from './route.ts';
import { bodyOf } from './shapes/check.ts';
import { Id, iso, nullable, paged, pagedList, Time, words } from './shapes/common.ts';
import { count, pageOfQuery, queryOf, search } from './shapes/query.ts';

const TAG = 'Suppressions';
const REASONS = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const;

const Suppression = Type.Object(
  {
    object: Type.Literal('suppression'),
    id: Id,
    email: Type.String(),
    reason: words(REASONS),
    origin: words(['bounce', 'complaint', 'unsubscribe', 'manual']),
    source: nullable(Type.String()),
    created_at: Time,
  },
  { title: 'Suppression' },
);

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
      const { id } = await rowOf(call);
      const accountId = call.identity.account.id;
      const email = await removeSuppression(call.api.ctx, accountId, call.params['email'] ?? '');
      return {
        status: 200,
        body: { object: 'suppression', id, email, deleted: true, status: 'removed' },
      };
    },
  }),
];

/** The suppression that the path names. Throws `not_found`, also for what is no address. */
async function rowOf({ api, identity, params }: Call<undefined, undefined>): Promise<Row> {
  const text = params['email'] ?? '';
  const row =
    'error' in makeAddress(text)
      ? null
      : await api.ctx.store.suppression(identity.account.id, suppressionAddress(text));
  if (row === null) throw new ApiError('not_found', 'This address is not suppressed.');
  return row;
}

/** What the libraries call the reason. */
const ORIGINS: Record<SuppressionReason, Static<typeof Suppression>['origin']> = {
  hard_bounce: 'bounce',
  complaint: 'complaint',
  unsubscribe: 'unsubscribe',
  manual: 'manual',
};

function suppression(row: Row): Static<typeof Suppression> {
  return {
    object: 'suppression',
    id: row.id,
    email: row.email,
    reason: row.reason,
    origin: ORIGINS[row.reason],
    source: row.source,
    created_at: iso(row.createdAt),
  };
}
