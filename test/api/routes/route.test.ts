/** What each route says of itself: the rows of a page by default and at most, and how often costly ones may be asked. */
import { expect, test } from 'bun:test';
import { ROUTES } from '../../../src/api/routes/routes.ts';

const named = (name: string) => ROUTES.find(({ method, path }) => `${method} ${path}` === name);

test.each([
  ['GET /emails', 50, 100],
  ['GET /email', 20, 100],
  ['GET /logs', 50, 100],
  ['GET /webhooks/:id/deliveries', 50, 100],
  ['GET /suppressions', 100, 500],
  ['GET /domains', undefined, 100],
  ['GET /api-keys', undefined, 100],
  ['GET /webhooks', undefined, 100],
  ['GET /emails/:id/attachments', undefined, 100],
])('%s has %p rows by default, %d at most', (name, byDefault, maximum) => {
  const limit = named(name)?.query?.schema.properties['limit'];
  expect([limit?.['default'], limit?.['minimum'], limit?.['maximum']]).toEqual([
    byDefault,
    1,
    maximum,
  ]);
});

test.each(['POST /domains', 'POST /domains/:id/verify', 'POST /webhooks/:id/test'])(
  '%s may be asked sixty times a minute',
  (name) => {
    expect(named(name)?.perMinute).toBe(60);
  },
);

test('what succeeds has its own status on each route', () => {
  const unusual = ROUTES.filter(({ success }) => success.status !== 200).map(
    ({ method, path, success }) => `${method} ${path} ${success.status}`,
  );
  expect(unusual.toSorted((a, b) => a.localeCompare(b))).toEqual([
    'POST /api-keys 201',
    'POST /domains 201',
    'POST /email/send 202',
    'POST /suppressions 201',
    'POST /webhooks 201',
  ]);
});

const namesOf = (has: (route: (typeof ROUTES)[number]) => boolean): string[] =>
  ROUTES.filter(has).map(({ method, path }) => `${method} ${path}`);

test('a sandbox key sees that there are no domains, endpoints and suppressions, and finds nothing else of them', () => {
  const isOfLiveThings = (name: string): boolean =>
    / \/(?:domains|webhooks|suppressions)(?:\/|$)/.test(name) && !/^GET \/\w+$/.test(name);
  expect(namesOf(({ isLiveOnly }) => isLiveOnly)).toEqual(
    namesOf(() => true).filter(isOfLiveThings),
  );
});

test('only what sends is open to keys that may only send, and only a link works without a key', () => {
  const sends = ['POST /emails', 'POST /email', 'POST /emails/batch', 'POST /email/send'];
  expect(namesOf(({ isSend }) => isSend)).toEqual(sends);
  expect(namesOf(({ access }) => access === 'send')).toEqual(sends);
  expect(namesOf(({ access }) => access === 'open')).toEqual([
    'GET /emails/:id/attachments/:attachment/content',
  ]);
  expect(namesOf(({ perMinute }) => perMinute !== null)).toEqual([
    'POST /domains',
    'POST /domains/:id/verify',
    'POST /webhooks/:id/test',
  ]);
});
