/** A store in a database of its own, and that database itself, for tests that look at its tables. */
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { newAccount } from '../samples.ts';

/** A store with an account, and the database below it. */
export async function withStore(
  body: (store: Store, account: Account, database: Database) => Promise<void>,
): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const database = new Database(databaseAddress(url, ''));
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('default');
  await store.createAccount(account);
  try {
    await body(store, account, database);
  } finally {
    await store.close();
    await database.close();
  }
}
