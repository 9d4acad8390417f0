/** Closing a database ends when every read that was asked for is answered. */
import { expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { testServer } from '../../rig/postgres.ts';

const LOCK = 7_777;
const WAITING =
  "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted" +
  ' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())';

for (const read of ['all', 'first'] as const) {
  test(`what \`${read}\` has asked for is answered first`, async () => {
    const server = await testServer();
    const url = await server.freshDatabase();
    const admin = server.admin(url.slice(url.lastIndexOf('/') + 1, url.indexOf('?')));
    await admin.unsafe('SELECT pg_advisory_lock($1)', [LOCK]);
    const database = new Database(databaseAddress(url, ''));
    const ended: string[] = [];
    // It waits for the lock, and gives it back with its statement.
    const waits = part('SELECT count(pg_advisory_xact_lock_shared($1)) AS count', LOCK);
    const reading = database[read](waits).then((answer) => {
      ended.push('read');
      return answer;
    });
    while ((await admin.unsafe(WAITING, [LOCK])).length === 0);
    const closing = database.close().then(() => ended.push('closed'));
    await admin.unsafe('SELECT 1');
    expect(ended).toEqual([]);
    await admin.unsafe('SELECT pg_advisory_unlock($1)', [LOCK]);
    expect(await reading).toEqual(read === 'all' ? [{ count: 1 }] : { count: 1 });
    await closing;
    expect(ended).toEqual(['read', 'closed']);
    await admin.close();
  });
}
