/** What the dashboard shows while the store cannot do something: 503 with the reason, and no talk of a bug. */
import { afterAll, afterEach, beforeAll, expect, mock, spyOn, test } from 'bun:test';

import { SearchUnreadyError, StoreAwayError, StoreFullError } from '../../src/store/store.ts';
import { startDashboardRig, type DashboardRig } from './dashboard-rig.ts';

let dashboard: DashboardRig;
beforeAll(async () => {
  dashboard = await startDashboardRig();
}, 60_000);
afterEach(() => mock.restore());
afterAll(() => dashboard.stop());

test('a search that the index cannot serve yet keeps the menu', async () => {
  const { store, log } = dashboard.rig.appliance.ctx;
  spyOn(store, 'suppressions').mockRejectedValue(new SearchUnreadyError());
  const logged = spyOn(log, 'error');
  const { status, text } = await dashboard.visit(`${dashboard.account}/suppressions?q=zz`);
  expect(status).toBe(503);
  expect(text).toContain('The search index is still being made');
  expect(text).toContain('Try again later.');
  expect(text).toContain(`href="/dashboard${dashboard.account}/emails"`);
  expect(logged).not.toHaveBeenCalled();
});

test('a file of what the index cannot find yet is refused as its list is, not broken off', async () => {
  const { store, log } = dashboard.rig.appliance.ctx;
  spyOn(store, 'emails').mockRejectedValue(new SearchUnreadyError());
  const logged = spyOn(log, 'error');
  const { status, headers, text } = await dashboard.visit(`${dashboard.account}/emails.csv?q=zz`);
  expect([status, headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
  expect(text).toContain('The search index is still being made');
  expect(logged).not.toHaveBeenCalled();
});

test('a database that is away is said on every page, without a menu', async () => {
  const { store, log } = dashboard.rig.appliance.ctx;
  const logged = spyOn(log, 'error');
  spyOn(store, 'accounts').mockRejectedValue(new StoreAwayError('refused'));
  const { status, text } = await dashboard.visit('');
  expect(status).toBe(503);
  expect(text).toContain('The database of this service cannot be reached. Try again later.');
  expect(text).not.toContain('/emails"');
  expect(logged).not.toHaveBeenCalled();
});

test('a form that a full disk refuses is shown again as it was filled in', async () => {
  const { store } = dashboard.rig.appliance.ctx;
  spyOn(store, 'addSuppression').mockRejectedValue(new StoreFullError('full'));
  const { status, text } = await dashboard.submit(`${dashboard.account}/suppressions`, {
    email: 'ann@example.net',
  });
  expect(status).toBe(503);
  expect(text).toContain('This service is out of disk space. Try again later.');
  expect(text).toContain('ann@example.net');
});

test('a fault of ours is 500 without its cause, and logged with its page', async () => {
  const { store, log } = dashboard.rig.appliance.ctx;
  const logged = spyOn(log, 'error').mockImplementation(() => undefined);
  spyOn(store, 'accounts').mockRejectedValue(new TypeError('the secret cause'));
  const { status, text } = await dashboard.visit('/accounts?q=private');
  expect(status).toBe(500);
  expect(text).toContain('The page could not be shown. The server log has the details.');
  expect(text).not.toContain('secret');
  // What was searched for stays out of the log.
  expect(logged.mock.calls).toEqual([
    [
      'dashboard_fault',
      {
        error: new TypeError('the secret cause'),
        path: '/dashboard/accounts',
        hint: 'This is a bug in Postrider. Report it together with this log line and those around it.',
      },
    ],
  ]);
});

test('a new password that the store cannot keep is no fault of the password', async () => {
  const { store, log } = dashboard.rig.appliance.ctx;
  const logged = spyOn(log, 'error').mockImplementation(() => undefined);
  const set = spyOn(store, 'setOperatorPassword');
  const form = { password: dashboard.password, new_password: 'long enough for anyone' };
  set.mockRejectedValue(new StoreFullError('full'));
  const full = await dashboard.submit('/profile/password', form);
  expect(full.status).toBe(503);
  expect(full.text).toContain('This service is out of disk space. Try again later.');
  set.mockRejectedValue(new TypeError('the secret cause'));
  const fault = await dashboard.submit('/profile/password', form);
  expect(fault.status).toBe(500);
  expect(fault.text).not.toContain('secret cause');
  expect(logged.mock.calls).toMatchObject([
    ['dashboard_fault', { path: '/dashboard/profile/password' }],
  ]);
  expect((await dashboard.visit('/profile')).status).toBe(200);
}, 60_000);
