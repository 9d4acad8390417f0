/**
 * Lists of emails: the plural one by cursor, the older one by page.
 *
 * Promises newest first, and with a cursor no row twice and none left out while new ones arrive.
 */
import { Type } from '@sinclair/typebox';
import { MESSAGE_STATUSES, type MessageStatus } from '../base/status.ts';
import { defineRoute, type Route } from './route.ts';
import { paged, pagedList, words } from './shapes/common.ts';
import {
  emailSummary,
  EmailSummary,
  LAST_EVENTS,
  OlderList,
  olderSummary,
} from './shapes/email-answers.ts';
import { count, CursorFields, pageOfQuery, queryOf, search } from './shapes/query.ts';

/** Pages of the older list: it counts its way to the page, so a far one is refused. */
const MAX_PAGE = 10_000;

const EmailQuery = queryOf(
  Type.Object({
    limit: count(1, 100, 50),
    ...CursorFields,
    q: Type.Optional(search('Part of the subject, of a recipient or of the sender.')),
    status: Type.Optional(words(LAST_EVENTS)),
  }),
);

const OlderQuery = queryOf(Type.Object({ page: count(1, MAX_PAGE, 1), limit: count(1, 100, 20) }));

export const emailListRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/emails',
    access: 'full',
    query: EmailQuery,
    text: { tag: 'Emails', summary: 'List emails' },
    success: { status: 200, schema: pagedList(EmailSummary), description: 'A page, newest first.' },
    async handle({ api, identity, query }) {
      const { status } = query;
      // Words that no email here ever has: nothing to look for.
      if (status !== undefined && !isReached(status)) {
        return { status: 200, body: paged({ rows: [], hasMore: false }, String, String) };
      }
      const page = await api.ctx.store.emails(identity.account.id, {
        ...pageOfQuery(query),
        q: query.q ?? null,
        status: status ?? null,
      });
      return { status: 200, body: paged(page, ({ id }) => id, emailSummary) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/email',
    access: 'full',
    query: OlderQuery,
    text: { tag: 'Emails (older family)', summary: 'List emails' },
    success: { status: 200, schema: OlderList, description: 'A page, newest first.' },
    async handle({ api, identity, query: { page, limit } }) {
      const rows = await api.ctx.store.emailsByPage(identity.account.id, page, limit);
      return { status: 200, body: { emails: rows.map(olderSummary), page, limit } };
    },
  }),
];

function isReached(status: (typeof LAST_EVENTS)[number]): status is MessageStatus {
  return MESSAGE_STATUSES.some((reached) => reached === status);
}
