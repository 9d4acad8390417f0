/** The names of accounts that rows name by their ids. */
import { expect, test } from 'bun:test';

import { accountNames } from '../../../src/flow/accounts/accounts.ts';
import { newAccount } from '../../store/samples.ts';

test('each account is read once for its name, and one that is gone has none', async () => {
  const asked: string[] = [];
  const account = newAccount('shop');
  const store = {
    account: (id: string) => {
      asked.push(id);
      return Promise.resolve(id === account.id ? account : null);
    },
  };
  const names = await accountNames({ store }, [null, account.id, 'gone', account.id, null]);
  expect([...names]).toEqual([[account.id, 'shop']]);
  expect(asked).toEqual([account.id, 'gone']);
});
