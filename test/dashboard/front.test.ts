/**
 * What stands at the two addresses that a browser asks for by itself, which requests are for the dashboard, and that all
 * others are left to the API.
 */
import { expect, test } from 'bun:test';

import { frontResponse, isForDashboard } from '../../src/dashboard/front.ts';

const PAGE = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8';
const asked = (path: string, accept: string | null, method = 'GET'): Response | null =>
  frontResponse(
    new Request(`http://mail.example.com${path}`, {
      method,
      headers: accept === null ? {} : { accept },
    }),
  );

test.each(['GET', 'HEAD'])(
  '%s of the root leads who asks for a page to the dashboard',
  (method) => {
    for (const accept of [PAGE, 'text/html', 'TEXT/HTML', 'application/json, text/html;q=0.1']) {
      const response = asked('/?from=mail', accept, method);
      expect([accept, response?.status, response?.body]).toEqual([accept, 302, null]);
      expect(Object.fromEntries(response?.headers ?? [])).toEqual({
        location: '/dashboard',
        vary: 'Accept',
        'cache-control': 'no-store',
      });
    }
  },
);

test.each([
  ['/', null],
  ['/', '*/*'],
  ['/', 'application/json'],
  ['/', 'text/htmlx'],
  ['/', 'atext/html'],
  ['//', PAGE],
  ['/dashboard', PAGE],
  ['/emails', PAGE],
  ['/favicon.icon', PAGE],
  ['/v1/favicon.ico', PAGE],
])('%s with Accept %j is for others', (path, accept) => {
  expect(asked(path, accept)).toBeNull();
});

test('whoever asks gets the icon; nobody sends anything to these two', () => {
  for (const accept of [null, PAGE, 'image/*']) {
    for (const method of ['GET', 'HEAD']) {
      const response = asked('/favicon.ico', accept, method);
      expect([response?.status, response?.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^image\//),
      ]);
    }
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    expect([asked('/', PAGE, method), asked('/favicon.ico', PAGE, method)]).toEqual([null, null]);
  }
});

test.each([
  ['/dashboard', true],
  ['/dashboard/', true],
  ['/dashboard?done=resumed', true],
  ['/dashboard/accounts/a/emails', true],
  ['/', false],
  ['/dashboards', false],
  ['/x/dashboard/', false],
  ['/?to=/dashboard', false],
  ['/dashboard.css', false],
])('%s is for the dashboard: %p', (path, isFor) => {
  expect(isForDashboard(new Request(`http://mail.example.com${path}`))).toBe(isFor);
});
