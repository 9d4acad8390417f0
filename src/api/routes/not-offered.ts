/**
 * Routes that client libraries call and this service does not offer: a clear error for each.
 *
 * Promises 404 `not_found` in the usual shape, so that every library raises its own error with a message that says what
 * is missing. They need a key like any other route. The paths are those of the libraries.
 */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../../base/errors.ts';
import { defineRoute, NO_TEXT, type Route } from './route.ts';

interface Missing {
  words: string;
  /** Method and path: `PATCH /emails/:id`. */
  routes: readonly `${Method} /${string}`[];
}

type Method = Route['method'];

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

const SCHEDULE = 'This service sends immediately: emails cannot be scheduled, changed or canceled.';
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
  { words: 'This service cannot share emails by link.', routes: ['POST /emails/:id/share'] },
  {
    words: 'This service has no email metrics. GET /usage counts messages by status.',
    routes: ['GET /emails/metrics'],
  },
  {
    words:
      'Domains cannot be claimed: several accounts can add the same domain, and its DNS records decide.',
    routes: [
      'POST /domains/claim',
      'GET /domains/claim',
      'GET /domains/:id/claim',
      'POST /domains/:id/claim',
      'POST /domains/:id/claim/verify',
    ],
  },
  {
    words: 'Use GET /webhooks/{id}/deliveries: it lists every delivery attempt.',
    routes: [
      'GET /webhooks/:id/events',
      'GET /webhooks/:id/events/:event',
      'GET /webhooks/:id/events/:event/attempts',
    ],
  },
  resource('templates', 'This service has no templates. Send html or text.', [
    'publish',
    'duplicate',
  ]),
  resource('broadcasts', 'This service sends transactional email only: it has no broadcasts.', [
    'send',
    'cancel',
    'duplicate',
    'recipients',
    'clicked-links',
  ]),
  resource('audiences', 'This service has no audiences.', ['contacts', 'contacts/:contact']),
  resource('contacts', 'This service has no contacts.', [
    'segments',
    'segments/:segment',
    'topics',
    'topics/:topic',
  ]),
  resource('contact-properties', 'This service has no contacts.'),
  resource('segments', 'This service has no segments.', ['contacts']),
  resource('topics', 'This service has no topics.'),
  resource('automations', 'This service has no automations.', [
    'runs',
    'runs/:run',
    'stop',
    'duplicate',
  ]),
  resource('events', 'This service does not accept custom events.'),
  resource('oauth/grants', 'This service has no OAuth grants. Use API keys.'),
  resource('inboxes', 'This service does not receive email for accounts.'),
  {
    words: 'This service has no contacts.',
    routes: ['GET /contacts/imports', 'POST /contacts/imports', 'GET /contacts/imports/:import'],
  },
];

/** All calls of libraries to the resource `name`; `below`: paths below one of its objects. */
function resource(name: string, words: string, below: readonly string[] = []): Missing {
  const paths = ['', ...below.map((part) => `/${part}`)].map(
    (part) => `/${name}/:id${part}` as const,
  );
  return {
    words,
    routes: [
      `GET /${name}`,
      `POST /${name}`,
      ...paths.flatMap((path) => METHODS.map((method) => `${method} ${path}` as const)),
    ],
  };
}

export const notOfferedRoutes: readonly Route[] = MISSING.flatMap(({ words, routes }) => {
  const refusal = {
    access: 'send',
    text: { ...NO_TEXT, summary: words },
    success: { status: 404, schema: Type.Object({}), description: words },
    handle: () => Promise.reject(new ApiError('not_found', words)),
  } as const;
  return routes.map((route) => {
    const method = METHODS.find((one) => route.startsWith(`${one} `)) ?? 'GET';
    return defineRoute({ ...refusal, method, path: route.slice(method.length + 1) });
  });
});
