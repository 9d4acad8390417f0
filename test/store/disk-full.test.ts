/** A full disk: writes are refused and undone whole, reads go on, and it is over when there is room again. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { GroupCommit } from '../../src/store/group-commit.ts';
import { StoreFullError } from '../../src/store/store.ts';
import { accepted, batchOf, newAccount, newMessage, openIn, withDir } from './samples.ts';

const NO_HOOKS = { itemKept() {}, itemUndone() {}, beforeCommit() {}, groupUndone() {} };

test('a group that does not fit is undone whole and answered as full, until there is room', () => {
  const db = new Database(':memory:');
  db.run('CREATE TABLE rows (content BLOB) STRICT');
  db.run('PRAGMA max_page_count = 20');
  let undone = 0;
  const commit = new GroupCommit(db, { ...NO_HOOKS, groupUndone: () => (undone += 1) });
  const add = db.prepare('INSERT INTO rows (content) VALUES (zeroblob(?))');
  const count = () => db.prepare('SELECT count(*) AS count FROM rows').get();
  const small = () => add.run(10);
  const large = () => add.run(1_000_000);
  const results = commit.run([small, large, small]);
  expect(results.map((result) => 'error' in result && result.error)).toEqual([
    expect.any(StoreFullError),
    expect.any(StoreFullError),
    expect.any(StoreFullError),
  ]);
  expect(undone).toBe(1);
  expect(count()).toEqual({ count: 0 });
  expect('value' in (commit.run([small])[0] ?? {})).toBe(true);
  db.run('PRAGMA max_page_count = 100000');
  expect(commit.run([small, large]).every((result) => 'value' in result)).toBe(true);
  expect(count()).toEqual({ count: 3 });
});

/** A file system of this many bytes at `dir`, or null where this user may not make one. */
function smallDisk(dir: string, bytes: number): { unmount(): void } | null {
  mkdirSync(dir);
  const mounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir]);
  if (!mounted.success) return null;
  return { unmount: () => void Bun.spawnSync(['umount', '-l', dir]) };
}

const mayMount = await withDir((dir) => {
  const disk = smallDisk(join(dir, 'disk'), 1_000_000);
  disk?.unmount();
  return disk !== null;
});

test.skipIf(!mayMount)('(needs mount) the whole store on a full disk, and after it', () =>
  withDir(async (dir) => {
    const place = join(dir, 'disk');
    const disk = smallDisk(place, 32 * 1024 * 1024);
    const store = await openIn(join(place, 'data'));
    try {
      const account = newAccount('default');
      await store.createAccount(account);
      const sent = await accepted(store, newMessage(account.id));
      const filler = join(place, 'filler');
      let isFull = false;
      for (let size = 4096; !isFull; size *= 2) {
        try {
          writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
        } catch {
          isFull = true;
        }
      }
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, () => {
          const message = newMessage(account.id);
          message.body.text = 'x'.repeat(10_000);
          return store.accept(batchOf(account.id, message)).then(() => message.message.id);
        }),
      );
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(refused.length).toBeGreaterThan(0);
      for (const { reason } of refused) expect(reason).toBeInstanceOf(StoreFullError);
      expect(await store.message(account.id, sent.message.id)).not.toBeNull();

      rmSync(filler);
      const after = await accepted(store, newMessage(account.id));
      const kept = outcomes.flatMap((outcome) =>
        outcome.status === 'fulfilled' ? [outcome.value] : [],
      );
      for (const id of [...kept, after.message.id]) {
        expect(await store.messageForDelivery(id)).not.toBeNull();
      }
      expect((await store.countsByStatus(account.id, 0)).queued).toBe(kept.length + 2);
    } finally {
      await store.close();
      disk?.unmount();
    }
  }),
);
