/** Rows that are more than one step of retention or of an erasure takes all go, and each is counted. */
import { expect, test } from 'bun:test';

import { part } from '../../../src/store/postgres/statement.ts';
import { newLogRecord } from '../samples.ts';
import { withStore } from './with-store.ts';

/** A step takes 1,000 rows. */
const ROWS = 1_001;

test('rows of the request log that are old, or that name a person', () =>
  withStore(async (store, account) => {
    const rows = (path: string) =>
      Array.from({ length: ROWS }, (_, at) => newLogRecord(account.id, { path, createdAt: at }));
    await store.appendLogs(rows('/suppressions/ann@example.org'));
    expect(await store.eraseAddress('ann@example.org', account.id)).toMatchObject({
      log_rows: ROWS,
    });
    await store.appendLogs([...rows('/emails'), newLogRecord(account.id, { createdAt: ROWS })]);
    expect(await store.purgeLogs(account.id, ROWS)).toBe(ROWS);
    expect(await store.purgeLogs(account.id, ROWS + 1)).toBe(1);
  }));

test('settings whose time is past', () =>
  withStore(async (store, _, database) => {
    const many =
      "INSERT INTO settings (name, value) SELECT 'until:' || n, n::text FROM generate_series(1, $1::int4) AS n";
    await database.run(part(many, ROWS + 1));
    expect(await store.purgeExpired(ROWS + 1)).toBe(ROWS);
    expect(await store.setting(`until:${ROWS + 1}`)).toBe(String(ROWS + 1));
  }));
