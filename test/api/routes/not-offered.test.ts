/** Calls that other services have and this one has not: each says so by name, with 404, and none is missing. */
import { expect, test } from 'bun:test';
import { ApiError } from '../../../src/base/errors.ts';
import { notOfferedRoutes } from '../../../src/api/routes/not-offered.ts';

const EXPECTED: [words: string, routes: string[]][] = [
  [
    'This service sends immediately: emails cannot be scheduled, changed or canceled.',
    ['PATCH /emails/:id', 'POST /emails/:id/cancel'],
  ],
  [
    'This service does not receive email for accounts.',
    [
      'GET /emails/receiving',
      'GET /emails/receiving/:id',
      'GET /emails/receiving/:id/attachments',
      'GET /emails/receiving/:id/attachments/:attachment',
      'GET POST /inboxes',
      'GET POST PATCH DELETE /inboxes/:id',
    ],
  ],
  ['This service cannot share emails by link.', ['POST /emails/:id/share']],
  [
    'This service has no email metrics. GET /usage counts messages by status.',
    ['GET /emails/metrics'],
  ],
  [
    'Domains cannot be claimed: several accounts can add the same domain, and its DNS records decide.',
    ['POST GET /domains/claim', 'GET POST /domains/:id/claim', 'POST /domains/:id/claim/verify'],
  ],
  [
    'Use GET /webhooks/{id}/deliveries: it lists every delivery attempt.',
    [
      'GET /webhooks/:id/events',
      'GET /webhooks/:id/events/:event',
      'GET /webhooks/:id/events/:event/attempts',
    ],
  ],
  [
    'This service has no templates. Send html or text.',
    [
      'GET POST /templates',
      'GET POST PATCH DELETE /templates/:id',
      'GET POST PATCH DELETE /templates/:id/publish',
      'GET POST PATCH DELETE /templates/:id/duplicate',
    ],
  ],
  [
    'This service sends transactional email only: it has no broadcasts.',
    [
      'GET POST /broadcasts',
      'GET POST PATCH DELETE /broadcasts/:id',
      'GET POST PATCH DELETE /broadcasts/:id/send',
      'GET POST PATCH DELETE /broadcasts/:id/cancel',
      'GET POST PATCH DELETE /broadcasts/:id/duplicate',
      'GET POST PATCH DELETE /broadcasts/:id/recipients',
      'GET POST PATCH DELETE /broadcasts/:id/clicked-links',
    ],
  ],
  [
    'This service has no audiences.',
    [
      'GET POST /audiences',
      'GET POST PATCH DELETE /audiences/:id',
      'GET POST PATCH DELETE /audiences/:id/contacts',
      'GET POST PATCH DELETE /audiences/:id/contacts/:contact',
    ],
  ],
  [
    'This service has no contacts.',
    [
      'GET POST /contacts',
      'GET POST PATCH DELETE /contacts/:id',
      'GET POST PATCH DELETE /contacts/:id/segments',
      'GET POST PATCH DELETE /contacts/:id/segments/:segment',
      'GET POST PATCH DELETE /contacts/:id/topics',
      'GET POST PATCH DELETE /contacts/:id/topics/:topic',
      'GET POST /contact-properties',
      'GET POST PATCH DELETE /contact-properties/:id',
      'GET POST /contacts/imports',
      'GET /contacts/imports/:import',
    ],
  ],
  [
    'This service has no segments.',
    [
      'GET POST /segments',
      'GET POST PATCH DELETE /segments/:id',
      'GET POST PATCH DELETE /segments/:id/contacts',
    ],
  ],
  ['This service has no topics.', ['GET POST /topics', 'GET POST PATCH DELETE /topics/:id']],
  [
    'This service has no automations.',
    [
      'GET POST /automations',
      'GET POST PATCH DELETE /automations/:id',
      'GET POST PATCH DELETE /automations/:id/runs',
      'GET POST PATCH DELETE /automations/:id/runs/:run',
      'GET POST PATCH DELETE /automations/:id/stop',
      'GET POST PATCH DELETE /automations/:id/duplicate',
    ],
  ],
  [
    'This service does not accept custom events.',
    ['GET POST /events', 'GET POST PATCH DELETE /events/:id'],
  ],
  [
    'This service has no OAuth grants. Use API keys.',
    ['GET POST /oauth/grants', 'GET POST PATCH DELETE /oauth/grants/:id'],
  ],
];

test('every call that is not offered says why', async () => {
  const said = new Map<string, Map<string, string[]>>();
  for (const route of notOfferedRoutes) {
    const { method, path, access } = route;
    const refusal = await Promise.resolve(route.handle({} as never)).catch(
      (error: unknown) => error,
    );
    if (!(refusal instanceof ApiError)) throw new Error(`${path} was handled`);
    expect([path, refusal.status, refusal.code, access]).toEqual([path, 404, 'not_found', 'send']);
    const paths = said.get(refusal.message) ?? new Map<string, string[]>();
    said.set(refusal.message, paths.set(path, [...(paths.get(path) ?? []), method]));
  }
  const shown = [...said].map(([words, paths]) => [
    words,
    [...paths].map(([path, methods]) => `${methods.join(' ')} ${path}`),
  ]);
  expect(shown).toEqual(EXPECTED);
});
