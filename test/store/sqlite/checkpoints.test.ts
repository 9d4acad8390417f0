/** Checkpoints: the WAL starts anew by itself, and after readers that stood in the way. */
import { expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { join } from 'node:path';

import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts';
import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import { withDir } from '../test-store.ts';

const LIMITS = { step: 10, urgent: 40 };

/** Runs `body` over a file; `grow` commits some frames and says what `afterCommit` returned. */
function withFile(body: (path: string, db: Database, grow: () => number | null) => void) {
  return withDir((dir) => {
    const path = join(dir, 'mail.db');
    const db = openForWriting(path, 'full');
    const checkpoints = new Checkpoints(db, LIMITS);
    db.run('CREATE TABLE rows (content BLOB) STRICT');
    const add = db.prepare('INSERT INTO rows (content) VALUES (zeroblob(3000))');
    body(path, db, () => {
      add.run();
      return checkpoints.afterCommit();
    });
    db.close();
  });
}

const framesOf = (db: Database): number =>
  db.prepare<{ log: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()?.log ?? -1;

test('under steady writes the WAL stays small', () =>
  withFile((path, db, grow) => {
    let largest = 0;
    for (let at = 0; at < 500; at += 1) {
      expect(grow()).toBeNull();
      largest = Math.max(largest, framesOf(db));
    }
    expect(largest).toBeLessThan(LIMITS.step * 3);
    expect(statSync(`${path}-wal`).size).toBeLessThan(LIMITS.step * 3 * 4200);
  }));

test('a reader that stays blocks checkpoints, which is reported; once it has gone the WAL starts from the beginning', () =>
  withFile((path, db, grow) => {
    for (let at = 0; at < 5; at += 1) grow();
    const reader = openForReading(path);
    reader.run('BEGIN');
    expect(reader.prepare('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 5 });
    const blockedAt: number[] = [];
    for (let at = 0; at < 60; at += 1) {
      const frames = grow();
      if (frames !== null) blockedAt.push(frames);
    }
    // Said when it becomes urgent, and again only when it has grown by half.
    expect(blockedAt[0]).toBeGreaterThanOrEqual(LIMITS.urgent);
    expect(blockedAt[0]).toBeLessThan(LIMITS.urgent + 2 * LIMITS.step);
    expect(blockedAt.length).toBeLessThanOrEqual(4);
    expect(framesOf(db)).toBeGreaterThan(LIMITS.urgent);
    expect(reader.prepare('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 5 });
    reader.run('ROLLBACK');

    for (let at = 0; at < 30; at += 1) grow();
    expect(framesOf(db)).toBeLessThan(LIMITS.step * 3);
    reader.close();
  }));
