/**
 * What client libraries offer and this service does not have: an answer in words for each.
 *
 * Promises 404 `not_found` in the usual shape, so that every library raises its own error with a message
 * that says what is missing. They need a key like any other route. Paths are those of the libraries.
 */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import { defineRoute, type Route } from './route.ts';

interface Missing {
  words: string;
  routes: readonly string[];
}

const SCHEDULE =
  'This service sends at once: emails can not be scheduled, so there is nothing to change or cancel.';
const MISSING: readonly Missing[] = [
  { words: SCHEDULE, routes: ['PATCH /emails/:id', 'POST /emails/:id/cancel'] },
  {
    words: 'This service does not receive email for accounts.',
    routes: [
      'GET /emails/receiving',
      'GET /emails/receiving/:id',
      'GET /emails/receiving/:id/attachments',
      'GET /emails/receiving/:id/attachments/:attachment',
    ],
  },
  { words: 'Emails can not be shared by link here.', routes: ['POST /emails/:id/share'] },
  {
    words: 'There are no metrics; GET /usage has counts by status.',
    routes: ['GET /emails/metrics'],
  },
  {
    words: 'Domains have nothing to change here: clicks and opens are not tracked.',
    routes: ['PATCH /domains/:id'],
  },
  {
    words: 'Domains are not claimed here: two accounts may both add one, and DNS decides.',
    routes: [
      'POST /domains/claim',
      'GET /domains/claim',
      'GET /domains/:id/claim',
      'POST /domains/:id/claim',
      'POST /domains/:id/claim/verify',
    ],
  },
  {
    words: 'Deliveries are listed by attempt: GET /webhooks/{id}/deliveries.',
    routes: [
      'GET /webhooks/:id/events',
      'GET /webhooks/:id/events/:event',
      'GET /webhooks/:id/events/:event/attempts',
    ],
  },
  ...[
    ['templates', 'This service has no templates; send html or text.', ['publish', 'duplicate']],
    [
      'broadcasts',
      'This service sends transactional email only: it has no broadcasts.',
      ['send', 'cancel', 'duplicate', 'recipients', 'clicked-links'],
    ],
    ['audiences', 'This service keeps no audiences.', ['contacts', 'contacts/:contact']],
    [
      'contacts',
      'This service keeps no contacts.',
      ['segments', 'segments/:segment', 'topics', 'topics/:topic'],
    ],
    ['contact-properties', 'This service keeps no contacts.', []],
    ['segments', 'This service keeps no segments.', ['contacts']],
    ['topics', 'This service has no topics.', []],
    ['automations', 'This service has no automations.', ['runs', 'runs/:run', 'stop', 'duplicate']],
    ['events', 'This service takes no custom events.', []],
    ['oauth/grants', 'This service has no OAuth grants; use API keys.', []],
    ['inboxes', 'This service does not receive email for accounts.', []],
  ].map(([name, words, below]) => ({
    words: String(words),
    routes: [
      `GET /${String(name)}`,
      `POST /${String(name)}`,
      ...['GET', 'POST', 'PATCH', 'DELETE'].map((method) => `${method} /${String(name)}/:id`),
      ...(below as string[]).flatMap((part) =>
        ['GET', 'POST', 'PATCH', 'DELETE'].map(
          (method) => `${method} /${String(name)}/:id/${part}`,
        ),
      ),
    ],
  })),
  {
    words: 'This service keeps no contacts.',
    routes: ['GET /contacts/imports', 'POST /contacts/imports', 'GET /contacts/imports/:import'],
  },
];

export const notOfferedRoutes: readonly Route[] = MISSING.flatMap(({ words, routes }) =>
  routes.map((route) => {
    const [method, path] = route.split(' ') as [Route['method'], string];
    return defineRoute({
      method,
      path,
      access: 'send',
      text: { tag: '', summary: words },
      success: { status: 404, schema: Type.Object({}), description: words },
      handle: () => Promise.reject(new ApiError('not_found', words)),
    });
  }),
);
