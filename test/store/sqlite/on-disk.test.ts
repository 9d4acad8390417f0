/**
 * What the store calls "on disk" has been synced, seen from outside by strace: the bytes of a file before it gets its
 * name, and after that the folder. Nothing else shows it: what a process has written is there for every reader until
 * the power goes.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { masterKey } from '../../../src/store/key-file.ts';
import { describeWith } from '../../rig/programs.ts';
import { accepted, newAccount, newMessage } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

const CHILD = join(import.meta.dir, 'on-disk-child.ts');
const WRITES = ['write', 'pwrite64', 'pwritev', 'writev', 'ftruncate', 'copy_file_range'];
const CALLS = [...WRITES, 'openat', 'fsync', 'fdatasync', 'link', 'rename'].join(',');
/**
 * A call that succeeded, or was under way when another thread made one: its result is awaited before the next. Of
 * `copy_file_range` the second descriptor is what it writes to.
 */
const CALL =
  /^\d+ +(\w+)\((?:\d+<[^>]*>, \[0\], )?(?:\d+<([^>]*)>)?(.*)(?:\) += \d| <unfinished \.\.\.>)/;
/** What a start makes anew, or SQLite rolls back. */
const PASSING = /-shm$|-wal$|-journal$|\.pid$|lock\.db$/;

/** Takes a step in `dataDir`; gives what a power loss could have cost at its end, or half-way. */
async function lostBy(step: string, dataDir: string): Promise<string[]> {
  const folder = dirname(dataDir);
  const trace = join(folder, 'trace');
  const strace = ['strace', '-f', '-y', '-s0', `-etrace=${CALLS}`, `-o${trace}`];
  const run = [process.execPath, CHILD, step, dataDir, join(folder, 'one.backup')];
  const child = Bun.spawn([...strace, ...run], { stderr: 'pipe' });
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, '']);
  return lostIn(readFileSync(trace, 'utf8'), folder);
}

function lostIn(trace: string, folder: string): string[] {
  const unsynced = new Set<string>();
  const lost: string[] = [];
  let calls = 0;
  for (const line of trace.split('\n')) {
    const [, call = '', file = '', rest = ''] = CALL.exec(line) ?? [];
    const [from = '', to = from] = Array.from(rest.matchAll(/"([^"]*)"/g), ([, path]) => path);
    const path = file === '' ? to : file;
    if (!path.startsWith(folder) || PASSING.test(path)) continue;
    calls += 1;
    if (WRITES.includes(call)) unsynced.add(path);
    if (call === 'fsync' || call === 'fdatasync') unsynced.delete(path);
    if (call === 'openat' && rest.includes('O_EXCL')) unsynced.add(dirname(path));
    if (call !== 'link' && call !== 'rename') continue;
    if (unsynced.has(from)) lost.push(`${to} had its name before its bytes were synced`);
    unsynced.add(dirname(to));
  }
  expect(calls).toBeGreaterThan(2);
  return [...lost, ...unsynced];
}

describeWith(['strace'], 'on disk when it is over', () => {
  test('a new key, one that is staged, and its promotion', () =>
    withDir(async (dir) => {
      const dataDir = join(dir, 'data');
      for (const step of ['key', 'stage', 'promote']) {
        expect([step, await lostBy(step, dataDir)]).toEqual([step, []]);
      }
    }));

  test('the disk reserve', () =>
    withDir(async (dir) => {
      const dataDir = join(dir, 'data');
      masterKey(dataDir);
      expect(await lostBy('reserve', dataDir)).toEqual([]);
    }));

  test('a backup, and what is restored from it', () =>
    withDir(async (dir) => {
      const dataDir = join(dir, 'data');
      const store = await openTestStore(dataDir);
      masterKey(dataDir);
      const account = newAccount('default');
      await store.createAccount(account);
      await accepted(store, newMessage(account.id));
      await store.close();
      expect(await lostBy('backup', dataDir)).toEqual([]);
      expect(await lostBy('restore', dataDir)).toEqual([]);
    }));
});
