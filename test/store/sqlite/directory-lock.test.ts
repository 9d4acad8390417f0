/** The lock of a directory where the disk is full: what the reserve gives up for it, and what else ends it. */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { lockDirectory } from '../../../src/store/directory-lock.ts';
import { DiskReserve } from '../../../src/store/disk-reserve.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Locks the directory; each of `codes` is what one try to begin fails with. Returns what was done, in its order. */
function lockWith(...codes: string[]): string[] {
  const done: string[] = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run } = Database.prototype;
  const running = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    sql,
    ...rest
  ) {
    if (sql === 'BEGIN EXCLUSIVE') {
      done.push('begin');
      const code = codes.shift();
      if (code !== undefined) throw Object.assign(new Error(code), { code });
    }
    return run.call(this, sql, ...rest);
  });
  const freeing = spyOn(DiskReserve.prototype, 'freeForStart').mockImplementation(() => {
    done.push('free');
  });
  try {
    lockDirectory(dir).release();
    done.push('locked');
  } catch (error) {
    done.push((error as Error).message);
  } finally {
    running.mockRestore();
    freeing.mockRestore();
  }
  return done;
}

test('space for what follows is freed once the directory is locked, and before where the lock needs it', () => {
  expect(lockWith()).toEqual(['begin', 'free', 'locked']);
  expect(lockWith('SQLITE_FULL')).toEqual(['begin', 'free', 'begin', 'free', 'locked']);
});

test('where that was not enough, or it is another failure, the directory is not locked', () => {
  expect(lockWith('SQLITE_FULL', 'SQLITE_FULL')).toEqual(['begin', 'free', 'begin', 'SQLITE_FULL']);
  expect(lockWith('SQLITE_IOERR')).toEqual(['begin', 'SQLITE_IOERR']);
  // Another server may have it: its reserve is left alone.
  expect(lockWith('SQLITE_BUSY')).toEqual(['begin', expect.stringContaining('another process')]);
  expect(lockWith()).toEqual(['begin', 'free', 'locked']);
});
