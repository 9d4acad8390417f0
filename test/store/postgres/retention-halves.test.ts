/** A day of content of which one of the two partitions is not there, or cannot be dropped: it goes all the same, in time. */
import { expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { partitionsOf } from '../../../src/store/postgres/partitions.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, finishOf, newAccount, newMessage, recipientOf } from '../samples.ts';

const DAY_MS = 86_400_000;
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS;
/** The day of `START` is over; what has no day may wait much longer. */
const OVER = START + DAY_MS;
const FRESH = 10 * DAY_MS;

const ofDay = (table: string): string =>
  `${table}_${new Date(START).toISOString().slice(0, 10).replaceAll('-', '')}`;

interface Parts {
  store: Store;
  account: Account;
  database: Database;
  /** Accepts and delivers a message of the day of `at`, with an attachment. */
  sent: (at: number) => Promise<void>;
}

async function withStore(body: (parts: Parts) => Promise<void>): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const database = new Database(databaseAddress(url, ''));
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('default');
  await store.createAccount(account);
  const sent = async (at: number): Promise<void> => {
    const written = newMessage(account.id, {
      id: idBound(at) + newId(at).slice(13),
      createdAt: at,
    });
    const file = { filename: 'a', contentType: 'text/plain', contentId: null };
    written.body.attachments = [{ ...file, content: Buffer.from('abc') }];
    const message = await accepted(store, written);
    await store.finish(finishOf(message, recipientOf(message)));
  };
  try {
    await body({ store, account, database, sent });
  } finally {
    await store.close();
    await database.close();
  }
}

const isThere = async (database: Database, table: 'bodies' | 'attachments'): Promise<boolean> =>
  (await partitionsOf(database, table)).some(({ name }) => name === ofDay(table));

for (const table of ['bodies', 'attachments'] as const) {
  test(`a day whose ${table} cannot be dropped, since somebody has that table, is dropped by a later round`, () =>
    withStore(async ({ store, account, database, sent }) => {
      await sent(START);
      await database.transaction(async (session) => {
        // It keeps nobody from emptying a day.
        await session.run(part(`LOCK TABLE ONLY ${table} IN ACCESS SHARE MODE`));
        expect(await store.purgeBodies(OVER, FRESH)).toBe(1);
        expect(await store.storedBytes(account.id)).toBe(0);
        expect([await isThere(database, 'bodies'), await isThere(database, 'attachments')]).toEqual(
          [true, table === 'attachments'],
        );
      });
      expect(await store.purgeBodies(OVER, FRESH)).toBe(0);
      expect([await isThere(database, 'bodies'), await isThere(database, 'attachments')]).toEqual([
        false,
        false,
      ]);
    }));
}

test('attachments of a day that was not made for them go with the content of that day, and no others', () =>
  withStore(async ({ store, account, database, sent }) => {
    await database.run(part(`DROP TABLE ${ofDay('attachments')}`));
    await sent(START - 1);
    await sent(START);
    await sent(OVER - 1);
    // Of a day that was made for neither.
    await sent(START + 9 * DAY_MS);
    expect(await store.purgeBodies(OVER, FRESH)).toBe(2);
    expect(await isThere(database, 'bodies')).toBe(false);
    const left = await database.all<{ name: string; count: number }>(
      part(
        "SELECT 'attachments' AS name, count(*) AS count FROM attachments UNION ALL SELECT 'bodies', count(*) FROM bodies",
      ),
    );
    expect(left).toEqual([
      { name: 'attachments', count: 2 },
      { name: 'bodies', count: 2 },
    ]);
    const bytes = await store.storedBytes(account.id);
    expect(await store.purgeBodies(START)).toBe(1);
    expect(await store.storedBytes(account.id)).toBe(bytes / 2);
  }));
