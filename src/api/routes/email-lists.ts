/**
 * Lists of emails: `GET /emails` by cursor, the older list by page number.
 *
 * Promises newest first, and with a cursor that no row is listed twice or skipped while new emails are accepted.
 */
import { Type } from '@sinclair/typebox';
import { MESSAGE_STATUSES, type MessageStatus } from '../../base/status.ts';
import { defineRoute, type Route } from './route.ts';
import { paged, pagedList, words } from '../shapes/common.ts';
import {
  emailSummary,
  EmailSummary,
  LAST_EVENTS,
  OlderList,
  olderSummary,
} from '../shapes/email-response.ts';
import { count, CursorFields, pageOfQuery, queryOf, search } from '../shapes/query.ts';

const EmailQuery = queryOf(
  Type.Object({
    limit: count(1, 100, 50),
    ...CursorFields,
    q: Type.Optional(search('Part of the subject, of a recipient or of the sender.')),
    status: Type.Optional(words(LAST_EVENTS, { description: 'Only emails with this status.' })),
  }),
);

/** Every page that a number can name: a far one is empty, and costs what the first one costs. */
const OlderQuery = queryOf(
  Type.Object({
    page: count(1, Number.MAX_SAFE_INTEGER, 1, 'Number of the page, from 1.'),
    limit: count(1, 100, 20),
  }),
);

export const emailListRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/emails',
    access: 'full',
    query: EmailQuery,
    text: {
      id: 'listEmails',
      clauses: ['C9.2', 'C9.3', 'C9.4'],
      tag: 'Emails',
      summary: 'List emails',
    },
    success: { status: 200, schema: pagedList(EmailSummary), description: 'A page, newest first.' },
    async handle({ api, identity, query }) {
      const { status } = query;
      // Statuses that no email here ever has: there is nothing to search.
      if (status !== undefined && !isReached(status)) {
        return { status: 200, body: paged({ rows: [], hasMore: false }, String, String) };
      }
      const page = await api.ctx.store.emails(identity.account.id, {
        ...pageOfQuery(query),
        q: query.q ?? null,
        status: status ?? null,
        isSandboxOnly: identity.key.isTest,
      });
      return { status: 200, body: paged(page, ({ id }) => id, emailSummary) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/email',
    access: 'full',
    query: OlderQuery,
    text: {
      id: 'listOlderEmails',
      clauses: ['C9.10', 'C9.11'],
      tag: 'Emails (older family)',
      summary: 'List emails',
    },
    success: { status: 200, schema: OlderList, description: 'A page, newest first.' },
    async handle({ api, identity, query: { page, limit } }) {
      const { account, key } = identity;
      const rows = await api.ctx.store.emailsByPage(account.id, page, limit, key.isTest);
      return { status: 200, body: { emails: rows.map(olderSummary), page, limit } };
    },
  }),
];

function isReached(status: (typeof LAST_EVENTS)[number]): status is MessageStatus {
  return MESSAGE_STATUSES.some((reached) => reached === status);
}
