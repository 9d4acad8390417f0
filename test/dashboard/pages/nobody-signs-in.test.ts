/** Where nobody signs in, as in the emulator, whoever is at the dashboard is the operator. */
import { expect, test } from 'bun:test';

import { suppressionPages } from '../../../src/dashboard/pages/suppressions.ts';
import { newSuppression } from '../../store/samples.ts';
import { visitOf } from '../drawn/page.ts';

test('a complaint is taken off the list there too, which the API refuses', async () => {
  const removed: unknown[] = [];
  const store = {
    suppression: () =>
      Promise.resolve(newSuppression('acc', 'a@x.example', { reason: 'complaint' })),
    removeSuppression: (...asked: unknown[]) => {
      removed.push(asked[1]);
      return Promise.resolve(true);
    },
  };
  const page = suppressionPages.find(({ path }) => path.endsWith('/suppressions/remove'));
  const log = { info: () => undefined };
  const clock = { now: () => 1, steady: () => 1 };
  const ctx = { clock, log, ids: { next: () => 'new' } };
  const accounts = { account: () => Promise.resolve({ id: 'acc', name: 'shop' }) };
  const form = { email: 'a@x.example' };
  const visit = visitOf({
    form,
    operator: null,
    ctx: { ...ctx, store: { ...accounts, ...store } },
  });
  expect(await page?.open(visit)).toMatchObject({ kind: 'redirect', done: 'removed' });
  expect(removed).toEqual(['a@x.example']);
});
