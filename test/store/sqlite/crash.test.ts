/** What the store promises about the disk: kill -9, the order of fsync and answer, a lost disk. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describeWith } from '../../rig/programs.ts';
import { CHILD, idsOf, startChild } from './children.ts';
import { randomFrom } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

describe(`kill -9 (SEED=${SEED})`, () => {
  test('loses nothing that was acknowledged, round after round on the same data', () =>
    withDir(async (dir) => {
      const random = randomFrom(SEED);
      const acknowledged: string[] = [];
      for (let round = 0; round < 4; round += 1) {
        const child = startChild([dir, 10, 1_000_000]);
        const stopAt = 1 + random(400);
        await child.until(() => idsOf(child).length >= stopAt);
        child.kill();
        expect(await child.exited).not.toBe(0);
        const ids = idsOf(child);
        expect(ids.length).toBeGreaterThanOrEqual(stopAt);
        acknowledged.push(...ids);

        const store = await openTestStore(dir);
        for (const id of acknowledged) {
          expect(await store.messageForDelivery(id)).not.toBeNull();
          expect(await store.recipients(id)).toHaveLength(1);
          expect(await store.events(id)).toHaveLength(1);
        }
        await store.close();
      }
    }));
});

describeWith(['strace'], 'fsync', () => {
  test(
    'comes between the last write of a message and its acknowledgement, 1000 of 1000',
    () =>
      withDir(async (dir) => {
        const trace = join(dir, 'trace.txt');
        const calls = 'openat,pwrite64,write,fdatasync,fsync';
        const tracer = [
          'strace',
          '-f',
          '-e',
          `trace=${calls}`,
          '-o',
          trace,
          process.execPath,
          CHILD,
        ];
        const child = startChild([join(dir, 'data'), 1, 1000], tracer);
        expect(await child.exited).toBe(0);
        expect(idsOf(child)).toHaveLength(1000);
        expect(acknowledgements(readFileSync(trace, 'utf8'))).toEqual({
          acknowledged: 1000,
          unsynced: 0,
        });
      }),
    120_000,
  );

  test('the reading of the trace sees an acknowledgement that came too early', () => {
    const lines = [
      '7 openat(AT_FDCWD, "/d/mail.db-wal", O_RDWR|O_CREAT) = 9',
      '7 pwrite64(9, "x", 1, 0) = 1',
      '6 write(1, "id a\\n", 5) = 5',
      '7 fdatasync(9) = 0',
      '7 pwrite64(9, "x", 1, 0) = 1',
      '7 fdatasync(9 <unfinished ...>',
      '6 write(1, "id b\\n", 5) = 5',
      '7 <... fdatasync resumed>) = 0',
      '7 pwrite64(9, "x", 1, 0) = 1',
      '7 fdatasync(9) = 0',
      '6 write(1, "id c\\n", 5) = 5',
    ];
    expect(acknowledgements(lines.join('\n'))).toEqual({ acknowledged: 3, unsynced: 2 });
    const apart = [
      '7 openat(AT_FDCWD, "/d/mail.db-wal", O_RDWR|O_CREAT <unfinished ...>',
      '8 openat(AT_FDCWD, "/proc/self/statm", O_RDONLY) = 5',
      '7 <... openat resumed>) = 9',
    ];
    expect(acknowledgements([...apart, ...lines.slice(1)].join('\n'))).toEqual({
      acknowledged: 3,
      unsynced: 2,
    });
  });
});

/** Reads a trace: of the acknowledged messages, how many had a write to the WAL that was not synced yet. */
function acknowledgements(trace: string): { acknowledged: number; unsynced: number } {
  const wals = new Set<string>();
  /** Threads whose opening of the WAL was interrupted by another's call. */
  const opening = new Set<string>();
  /** What each thread syncs while another's call stands between the two halves of the line. */
  const syncing = new Map<string, string>();
  let isDirty = true;
  let acknowledged = 0;
  let unsynced = 0;
  for (const line of trace.split('\n')) {
    const thread = line.split(' ', 1)[0] ?? '';
    if (/openat\(.*mail\.db-wal".* <unfinished \.\.\.>$/.test(line)) opening.add(thread);
    const isOpened = /openat\(.*mail\.db-wal"/.test(line) || opening.has(thread);
    const opened = /openat(?:\(| resumed>).*= (\d+)$/.exec(line)?.[1];
    if (isOpened && opened !== undefined) {
      wals.add(opened);
      opening.delete(thread);
    }
    const written = /pwrite64\((\d+)/.exec(line)?.[1];
    if (written !== undefined && wals.has(written)) isDirty = true;
    const begun = /f(?:data)?sync\((\d+)/.exec(line)?.[1];
    if (begun !== undefined) syncing.set(thread, begun);
    const isSynced = /f(?:data)?sync(?:\(\d+| resumed>)\) += 0$/.test(line);
    if (isSynced && wals.has(syncing.get(thread) ?? '')) isDirty = false;
    if (/write\(1, "id /.test(line)) {
      acknowledged += 1;
      if (isDirty) unsynced += 1;
    }
  }
  return { acknowledged, unsynced };
}

describe('a disk that fails', () => {
  test('ends the process at once, with a hint, without acknowledging what was not written', () =>
    withDir(async (dir) => {
      // Writes past the size limit fail with EFBIG, which SQLite reports as an I/O error.
      const script = 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"';
      const limited = ['bash', '-c', script, 'limited', '2000', process.execPath, CHILD];
      const child = startChild([join(dir, 'data'), 4, 100_000, 20_000], limited);
      expect(await child.exited).toBe(1);
      expect(child.lines).not.toContain('closed');
      const ids = idsOf(child);
      expect(ids.length).toBeGreaterThan(10);
      const failure = (await child.errors())
        .split('\n')
        .find((line) => line.includes('store_failed'));
      expect(JSON.parse(failure ?? '{}')).toMatchObject({
        level: 'error',
        hint: expect.any(String),
      });

      const store = await openTestStore(join(dir, 'data'));
      for (const id of ids) expect(await store.messageForDelivery(id)).not.toBeNull();
      await store.close();
    }));
});
