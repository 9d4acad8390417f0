/** A full disk: writes are refused and undone whole, reads go on, and writes work again once there is space. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../../src/base/errors.ts';
import { GroupCommit } from '../../../src/store/sqlite/group-commit.ts';
import { masterKey } from '../../../src/store/key-file.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { describeWith } from '../../rig/programs.ts';
import { makeSmallDisk } from '../../rig/small-disk.ts';
import { accepted, batchOf, newAccount, newMessage } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

const NO_HOOKS = { itemKept() {}, itemUndone() {}, beforeCommit() {}, groupUndone() {} };

test('a group that does not fit is undone whole and refused as full, until there is space', () => {
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

describeWith(['mount', 'small disk'], 'the whole store', () => {
  test('on a full disk, and after it', async () => {
    const disk = makeSmallDisk(32 * 1024 * 1024);
    const store = await openTestStore(join(disk.path, 'data'));
    try {
      const account = newAccount('default');
      await store.createAccount(account);
      const sent = await accepted(store, newMessage(account.id));
      disk.fill();
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

      disk.clear();
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
      disk.unmount();
    }
  });

  test('a backup to a full disk says so, and leaves nothing behind', async () => {
    const disk = makeSmallDisk(2 * 1024 * 1024);
    await withDir(async (dir) => {
      const store = await openTestStore(dir);
      try {
        masterKey(dir);
        await store.createAccount(newAccount('default'));
        const file = join(disk.path, 'one.backup');
        const empty = disk.freeBytes();
        // None at all, and too little at several stages: the copy, the key's own table, its journal.
        const whole = (await store.backUpTo(file)).bytes;
        rmSync(file);
        for (const left of [0, 4_096, 16_384, whole - 4_096, whole]) {
          disk.clear();
          // The thread of the backup before may be about to end, and with it goes the draft that it had open.
          while (disk.freeBytes() < empty) await Bun.sleep(5);
          disk.fill(left);
          const refusal = await store.backUpTo(file).then(
            () => null,
            (error: unknown) => error,
          );
          if (refusal === null) rmSync(file);
          else expect(refusal).toBeInstanceOf(OperatorError);
          if (left < whole - 4_096 || refusal !== null) {
            expect(String(refusal)).toContain('the disk is full');
          }
          expect(readdirSync(disk.path)).toEqual(['filler']);
        }
        disk.clear();
        expect((await store.backUpTo(file)).rows['accounts']).toBe(1);
      } finally {
        await store.close();
        disk.unmount();
      }
    });
  });
});
