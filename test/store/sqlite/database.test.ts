/** A connection to a file: it lets go of the file when it is closed, and its settings are those it was opened with. */
import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import {
  openForReading,
  openForWriting,
  readingTogether,
} from '../../../src/store/sqlite/database.ts';
import { withDir } from '../test-store.ts';
import { openIn } from './open-files.ts';

test('a closed connection has no file open, whatever statements were made and half read', () =>
  withDir((dir) => {
    const path = join(dir, 'one.db');
    const writing = openForWriting(path, 'full');
    writing.run('CREATE TABLE rows (n)');
    writing.run('INSERT INTO rows VALUES (1), (2), (3)');
    const kept = [];
    for (const db of [openForReading(path), writing]) {
      const statement = db.prepare<{ n: number }, []>('SELECT n FROM rows ORDER BY n');
      kept.push(statement, db.prepare('SELECT 1'));
      const rows = statement.iterate();
      expect(rows.next().value).toEqual({ n: 1 });
      db.close();
      // Twice does no harm.
      db.close();
    }
    expect(openIn(dir)).toEqual([]);
    // What was read with them is refused, not read from a closed file.
    for (const statement of kept) expect(() => statement.get()).toThrow();
    expect(readdirSync(dir)).toEqual(['one.db']);
  }));

const settings = [
  'journal_mode',
  'synchronous',
  'foreign_keys',
  'journal_size_limit',
  'temp_store',
  'secure_delete',
  'cache_size',
  'busy_timeout',
  'query_only',
] as const;

test('who writes has these settings, and who reads those', () =>
  withDir((dir) => {
    const path = join(dir, 'one.db');
    const of = (db: ReturnType<typeof openForReading>): unknown[] => {
      const values = settings.map(
        (name) =>
          Object.values(db.prepare<Record<string, unknown>, []>(`PRAGMA ${name}`).get() ?? {})[0],
      );
      db.close();
      return values;
    };
    expect(of(openForWriting(path, 'full'))).toEqual([
      'wal',
      2,
      1,
      33_554_432,
      2,
      1,
      -4_000,
      5_000,
      0,
    ]);
    expect(of(openForWriting(path, 'normal'))).toEqual([
      'wal',
      1,
      1,
      33_554_432,
      2,
      1,
      -4_000,
      5_000,
      0,
    ]);
    const reading = of(openForReading(path));
    expect([reading[0], reading[4], reading[6], reading[8]]).toEqual(['wal', 2, -4_000, 1]);
  }));

test('reads together see one state, and the next ones see what was written meanwhile, also after a failure', () =>
  withDir((dir) => {
    const path = join(dir, 'one.db');
    const writing = openForWriting(path, 'full');
    writing.run('CREATE TABLE rows (n)');
    const reading = openForReading(path);
    const together = readingTogether(reading);
    const count = reading.prepare<{ count: number }, []>('SELECT count(*) AS count FROM rows');
    const counted = (): number | undefined => count.get()?.count;
    const add = (): unknown => writing.run('INSERT INTO rows VALUES (1)');
    expect(
      together(() => [counted(), add(), counted()].filter((each) => typeof each === 'number')),
    ).toEqual([0, 0]);
    expect(counted()).toBe(1);
    expect(() =>
      together(() => {
        counted();
        throw new Error('a fault');
      }),
    ).toThrow('a fault');
    add();
    expect(together(counted)).toBe(2);
    reading.close();
    writing.close();
  }));
