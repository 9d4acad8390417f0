/** Checkpoints: the WAL starts anew by itself, and after readers that stood in the way. */
import { expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { join } from 'node:path';

import { Checkpoints } from '../../src/store/checkpoints.ts';
import { openForReading, openForWriting } from '../../src/store/database.ts';
import { withDir } from './samples.ts';

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

test('a reader that stays holds it up, which is said; when it has gone the WAL starts anew', () =>
  withFile((path, db, grow) => {
    for (let at = 0; at < 5; at += 1) grow();
    const reader = openForReading(path);
    reader.run('BEGIN');
    expect(reader.prepare('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 5 });
    const heldUp: number[] = [];
    for (let at = 0; at < 60; at += 1) {
      const frames = grow();
      if (frames !== null) heldUp.push(frames);
    }
    // Said when it becomes urgent, and again only when it has grown by half.
    expect(heldUp[0]).toBeGreaterThanOrEqual(LIMITS.urgent);
    expect(heldUp[0]).toBeLessThan(LIMITS.urgent + 2 * LIMITS.step);
    expect(heldUp.length).toBeLessThanOrEqual(4);
    expect(framesOf(db)).toBeGreaterThan(LIMITS.urgent);
    expect(reader.prepare('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 5 });
    reader.run('ROLLBACK');

    for (let at = 0; at < 30; at += 1) grow();
    expect(framesOf(db)).toBeLessThan(LIMITS.step * 3);
    reader.close();
  }));
