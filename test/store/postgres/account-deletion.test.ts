/** An account that is removed while others hold what is to go with it. */
import { expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, batchOf, newAccount, newMessage } from '../samples.ts';

/** A transaction that locks the row of `id` until it is let go. */
async function locking(
  database: Database,
  sql: string,
  id: string,
): Promise<() => Promise<unknown>> {
  const { promise: isOver, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: isLocked, resolve: lock } = Promise.withResolvers<void>();
  const locked = database.transaction(async (session) => {
    await session.all(part(sql, id));
    lock();
    await isOver;
  });
  await isLocked;
  return () => {
    letGo();
    return locked;
  };
}

test('for an account that is gone nothing is accepted, and whoever asks at the same moment is not harmed', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const [account, gone] = [newAccount('here'), newAccount('gone')];
  await store.createAccount(account);
  const send = (id: string) =>
    store.accept(batchOf(id, newMessage(id))).then(
      ({ kind }) => kind,
      (error: unknown) => String(error),
    );
  const nothing = store.accept(batchOf(gone.id)).then(
    ({ kind }) => kind,
    (error: unknown) => String(error),
  );
  const words = 'Error: an account was deleted before the acceptance';
  expect(await Promise.all([send(account.id), send(gone.id), nothing, send(account.id)])).toEqual([
    'accepted',
    words,
    words,
    'accepted',
  ]);
  expect((await store.countsByStatus(account.id, 0)).queued).toBe(2);
  await store.close();
});

test('a message that came at the last moment and is in somebody’s hands goes too, before the account', async () => {
  const url = await (await testServer()).freshDatabase();
  const database = new Database(databaseAddress(url, ''));
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('gone');
  await store.createAccount(account);
  const waiters = part(
    "SELECT count(*) AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  );
  const untilItWaits = async (): Promise<void> => {
    while ((await database.first<{ count: number }>(waiters))?.count !== 1);
  };
  // An acceptance is under way: the account cannot go yet.
  const acceptance = await locking(
    database,
    'SELECT 1 FROM accounts WHERE id = $1 FOR KEY SHARE',
    account.id,
  );
  const told: number[] = [];
  const removal = store.removeAccount(account.id, [], (count) => told.push(count));
  await untilItWaits();
  const { message } = await accepted(store, newMessage(account.id));
  const attempt = await locking(
    database,
    'SELECT 1 FROM messages WHERE id = $1 FOR NO KEY UPDATE',
    message.id,
  );
  await acceptance();
  await untilItWaits();
  expect(await store.messageById(message.id)).not.toBeNull();
  expect(await store.account(account.id)).not.toBeNull();
  await attempt();
  expect((await removal).messages).toBe(1);
  expect(told).toEqual([1]);
  expect(await store.messageById(message.id)).toBeNull();
  expect(await store.account(account.id)).toBeNull();
  await store.close();
  await database.close();
}, 30_000);
