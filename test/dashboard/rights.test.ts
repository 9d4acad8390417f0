/** The rule itself: what each operator may open, by the pattern of a page, and which addresses a control may lead to. */
import { expect, test } from 'bun:test';

import { accessTo, ALL_RIGHTS, mayOf, type Rights } from '../../src/dashboard/access.ts';

const WHO: Readonly<Record<string, Rights>> = {
  nobody: ALL_RIGHTS,
  admin: { role: 'admin', accountId: null },
  reader: { role: 'read_only', accountId: null },
  owner: { role: 'admin', accountId: 'a' },
  guest: { role: 'read_only', accountId: 'a' },
};

/** What each of them finds at a page, in that order. */
const found = (method: 'GET' | 'POST', path: string, isForm?: boolean, account = 'a'): string =>
  Object.values(WHO)
    .map((rights) =>
      accessTo(rights, { method, path, ...(isForm !== undefined && { isForm }) }, { account }),
    )
    .join(' ');

const OPEN = 'open open open open open';
const CHANGES = 'open open forbidden open forbidden';
const LOOKS = 'open open open hidden hidden';
const SERVER_CHANGES = 'open open forbidden hidden hidden';

test.each([
  ['GET', '/profile', OPEN],
  ['POST', '/profile', OPEN],
  ['POST', '/profile/password', OPEN],
  ['POST', '/profiles', SERVER_CHANGES],
  ['POST', '/x/profile', SERVER_CHANGES],
  ['GET', '/profiles', LOOKS],
  ['GET', '', LOOKS],
  ['POST', '/halt', SERVER_CHANGES],
  ['GET', '/accounts', LOOKS],
  ['GET', '/accounts/:account', LOOKS],
  ['GET', '/accounts/:account/edit', LOOKS],
  ['POST', '/accounts/:account/pause', SERVER_CHANGES],
  ['GET', '/x/accounts/:account/emails', LOOKS],
  ...['emails', 'domains', 'webhooks', 'suppressions', 'keys', 'logs', 'usage'].flatMap((part) => [
    ['GET', `/accounts/:account/${part}`, OPEN] as const,
    ['GET', `/accounts/:account/${part}/:id/more`, OPEN] as const,
    ['POST', `/accounts/:account/${part}/:id`, CHANGES] as const,
    ['GET', `/accounts/:account/${part}s`, LOOKS] as const,
  ]),
  // A backup leaves the machine whole.
  ['GET', '/backup', SERVER_CHANGES],
  ['GET', '/backups/:name', SERVER_CHANGES],
  ['GET', '/settings/backup', SERVER_CHANGES],
  ['GET', '/settings/config', LOOKS],
  ['GET', '/accounts/:account/logs/backup', OPEN],
] as const)('%s %s: %s', (method, path, expected) => {
  expect(found(method, path)).toBe(expected);
});

test('a page that is nothing but a form opens for those who may post it', () => {
  expect(found('GET', '/halt', true)).toBe(SERVER_CHANGES);
  expect(found('GET', '/halt', false)).toBe(LOOKS);
  expect(found('GET', '/accounts/:account/keys', true)).toBe(CHANGES);
});

test('of another account, or of none, its operators find nothing', () => {
  expect(found('GET', '/accounts/:account/keys', false, 'b')).toBe(LOOKS);
  expect(found('POST', '/accounts/:account/keys/:id', false, 'b')).toBe(SERVER_CHANGES);
  const page = { method: 'GET', path: '/accounts/:account/keys' } as const;
  expect(accessTo({ role: 'admin', accountId: 'a' }, page, {})).toBe('hidden');
});

test.each([
  ['/dashboard', true],
  ['/dashboard/accounts', true],
  ['/dashboard/accounts?q=%2Fnowhere', true],
  ['/dashboard/accounts#operators', true],
  ['/dashboard?period=7d', true],
  ['/dashboard#host', true],
  ['/dashboard?a=/nowhere#b?c\nd', true],
  ['/dashboard/nowhere', false],
  ['/dashboards', false],
  ['/dashboardaccounts', false],
  ['/docs', false],
  ['/elsewhere/accounts/dashboard/keys', false],
  ['/v1/dashboard/accounts', false],
  ['https://x.example/dashboard/accounts', false],
  ['', false],
])('a link to %j may be shown: %p', (to, isShown) => {
  expect(mayOf(ALL_RIGHTS)('GET', to)).toBe(isShown);
});

test('a control is for those whom its route lets pass', () => {
  const of = (method: 'GET' | 'POST', to: string): string =>
    Object.values(WHO)
      .map((rights) => (mayOf(rights)(method, to) ? 'yes' : 'no'))
      .join(' ');
  expect(of('POST', '/dashboard/halt')).toBe('yes yes no no no');
  expect(of('GET', '/dashboard/halt')).toBe('yes yes no no no');
  expect(of('GET', '/dashboard#host')).toBe('yes yes yes no no');
  expect(of('GET', '/dashboard/accounts/a/keys?x#y')).toBe('yes yes yes yes yes');
  expect(of('GET', '/dashboard/accounts/b/keys#a')).toBe('yes yes yes no no');
  expect(of('POST', '/dashboard/accounts/a/keys')).toBe('yes yes no yes no');
  expect(of('POST', '/dashboard/profile/password')).toBe('yes yes yes yes yes');
});
