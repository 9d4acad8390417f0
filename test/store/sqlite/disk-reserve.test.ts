/** The file that holds disk space back: made, given up and made again; and what the store writes while it is short. */
import { expect, spyOn, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import { DiskReserve } from '../../../src/store/disk-reserve.ts';
import { lockDirectory } from '../../../src/store/directory-lock.ts';
import type { NewMessage } from '../../../src/store/journey.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeWith } from '../../rig/programs.ts';
import { makeSmallDisk } from '../../rig/small-disk.ts';
import type { SmallDisk } from '../../rig/small-disk.ts';
import { beginAll, finished, happen } from '../call-steps.ts';
import {
  accepted,
  finishOf,
  newAccount,
  newEndpoint,
  newLogRecord,
  newMessage,
} from '../samples.ts';
import { openTestStore } from '../test-store.ts';

const KIB = 1024;
const DISK_BYTES = 32 * KIB * KIB;
/** Half of the 5 % that are kept free on a small disk. */
const WHOLE_BYTES = Math.floor(DISK_BYTES * 0.025);

async function withDisk(body: (disk: SmallDisk, file: string) => Promise<void>): Promise<void> {
  const disk = makeSmallDisk(DISK_BYTES);
  try {
    await body(disk, join(disk.path, 'disk.reserve'));
  } finally {
    disk.unmount();
  }
}

/** Leaves exactly so many bytes, in pages. */
function leave(disk: SmallDisk, bytes: number): void {
  disk.clear();
  disk.fill(bytes);
  expect(statfsSync(disk.path).bavail).toBe(bytes / 4096);
}

describeWith(['mount', 'small disk'], 'the file', () => {
  test('is half of what is kept free, really allocated and for its owner alone', () =>
    withDisk(async (disk, file) => {
      const reserve = new DiskReserve(disk.path);
      expect([reserve.keptBytes(), reserve.isShort(), reserve.giveUp()]).toEqual([0, false, false]);
      const before = statfsSync(disk.path);
      expect(await reserve.fill()).toBe(true);
      const after = statfsSync(disk.path);
      expect((before.bavail - after.bavail) * 4096).toBe(Math.ceil(WHOLE_BYTES / 4096) * 4096);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect([reserve.keptBytes(), reserve.isShort()]).toEqual([WHOLE_BYTES, false]);
      expect(await reserve.fill()).toBe(false);
      // What somebody has opened to others is closed with the next filling.
      chmodSync(file, 0o644);
      reserve.giveUp();
      await reserve.fill();
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }));

  test('takes no more than half of what is free, and nothing before that', () =>
    withDisk(async (disk, file) => {
      const reserve = new DiskReserve(disk.path);
      leave(disk, 400 * 4096);
      expect(await reserve.fill()).toBe(false);
      // Not there: nobody has to wait for it to be whole.
      expect([existsSync(file), reserve.isShort()]).toEqual([false, false]);
      leave(disk, 412 * 4096);
      expect(await reserve.fill()).toBe(true);
      expect(reserve.keptBytes()).toBe(WHOLE_BYTES);
    }));

  test('is given up in steps, to its end; short until it is whole or the disk has plenty', () =>
    withDisk(async (disk) => {
      const reserve = new DiskReserve(disk.path);
      await reserve.fill();
      leave(disk, 0);
      let steps = 0;
      for (; reserve.giveUp(); steps += 1) expect(reserve.isShort()).toBe(true);
      expect([steps, reserve.keptBytes()]).toEqual([Math.ceil(WHOLE_BYTES / (64 * KIB)), 0]);
      expect(await reserve.fill()).toBe(false);
      leave(disk, Math.floor((4 * WHOLE_BYTES) / 4096) * 4096);
      expect(reserve.isShort()).toBe(true);
      leave(disk, Math.ceil((4 * WHOLE_BYTES) / 4096) * 4096);
      expect(reserve.isShort()).toBe(false);
      expect(await reserve.fill()).toBe(true);
      expect(reserve.keptBytes()).toBe(WHOLE_BYTES);
    }));

  test('gives a start what it needs and is not there, and no more', () =>
    withDisk(async (disk) => {
      const reserve = new DiskReserve(disk.path);
      await reserve.fill();
      leave(disk, 64 * 4096);
      reserve.freeForStart();
      expect(reserve.keptBytes()).toBe(WHOLE_BYTES);
      leave(disk, 24 * 4096);
      reserve.freeForStart();
      expect(reserve.keptBytes()).toBe(WHOLE_BYTES - 40 * 4096);
      expect(statfsSync(disk.path).bavail).toBe(64);
    }));

  test('is on the disk once it is filled; a disk that gets full ends the filling, another fault is said', () =>
    withDisk(async (disk, file) => {
      const probe = await open(join(disk.path, 'probe'), 'w');
      const handle = Object.getPrototypeOf(probe) as FileHandle;
      await probe.close();
      const calls: string[] = [];
      const sync = spyOn(handle, 'sync').mockImplementation(async () => {
        calls.push(`sync ${statSync(file).size}`);
      });
      const reserve = new DiskReserve(disk.path);
      expect([await reserve.fill(), calls]).toEqual([true, [`sync ${WHOLE_BYTES}`]]);
      sync.mockRestore();
      reserve.giveUp();
      const failing = (code: string) =>
        spyOn(handle, 'appendFile').mockRejectedValue(Object.assign(new Error(code), { code }));
      const full = failing('ENOSPC');
      expect(await reserve.fill()).toBe(true);
      full.mockRestore();
      const broken = failing('EIO');
      expect(await reserve.fill().catch((error: Error) => error.message)).toBe('EIO');
      broken.mockRestore();
      expect(await reserve.fill()).toBe(true);
      // What cannot be cut is as good as none.
      rmSync(file);
      mkdirSync(file);
      expect(reserve.giveUp()).toBe(false);
    }));

  test('lets the directory be locked where there is no byte', () =>
    withDisk(async (disk) => {
      lockDirectory(disk.path).release();
      leave(disk, 0);
      expect(() => lockDirectory(disk.path)).toThrow('full');
      disk.clear();
      await new DiskReserve(disk.path).fill();
      leave(disk, 0);
      const lock = lockDirectory(disk.path);
      expect(() => lockDirectory(disk.path)).toThrow(`pid ${process.pid}`);
      lock.release();
      // There is space for the lock: what follows needs more.
      leave(disk, 8 * 4096);
      lockDirectory(disk.path).release();
      expect(statfsSync(disk.path).bavail).toBeGreaterThanOrEqual(56);
    }));
});

describeWith(['mount', 'small disk'], 'the store, without a byte left', () => {
  const begin = (store: Store, { id }: Recipient): Promise<unknown> => {
    const now = Date.now();
    const mark = { recipientId: id, owner: 'me', leaseUntil: now + 1_000, nextAttemptAt: now };
    return store.begin([mark], now);
  };
  const statusOf = async (store: Store, { message }: NewMessage): Promise<string | undefined> =>
    (await store.message(message.accountId, message.id))?.status;

  test('records ends, and nothing else before the reserve is whole or the disk has plenty', () =>
    withDisk(async (disk) => {
      const dataDir = join(disk.path, 'data');
      let store = await openTestStore(dataDir);
      try {
        const reserve = new DiskReserve(dataDir);
        const account = newAccount('default');
        await store.createAccount(account);
        const sent: NewMessage[] = [];
        for (let n = 0; n < 12; n += 1) sent.push(await accepted(store, newMessage(account.id)));
        const next = (): { message: NewMessage; recipient: Recipient } => {
          const message = sent.pop();
          const [recipient] = message?.recipients ?? [];
          if (message === undefined || recipient === undefined) throw new Error('none left');
          return { message, recipient };
        };
        const waits = next().recipient;
        const ends = async (): Promise<void> => {
          const { message, recipient } = next();
          await store.finish(finishOf(message, recipient));
          expect(await statusOf(store, message)).toBe('delivered');
        };
        const allRefused = async (): Promise<void> => {
          const writes = await Promise.allSettled([
            begin(store, waits),
            accepted(store, newMessage(account.id)),
            store.appendLogs([newLogRecord(account.id)]),
            store.touchKeys([]),
          ]);
          for (const write of writes) {
            expect(write).toEqual({ status: 'rejected', reason: expect.any(StoreFullError) });
          }
        };

        // On a full disk that never had a reserve an end waits, as everything does.
        leave(disk, 0);
        const { message, recipient } = next();
        const unkept = store.finish(finishOf(message, recipient));
        expect(await unkept.catch((error: unknown) => error)).toBeInstanceOf(StoreFullError);
        disk.clear();
        await begin(store, waits);

        await reserve.fill();
        leave(disk, 0);
        await ends();
        expect(reserve.keptBytes()).toBeLessThan(WHOLE_BYTES);
        // One group, of which the ends alone are written.
        const both = await Promise.allSettled([begin(store, waits), ends(), begin(store, waits)]);
        expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
        await allRefused();
        await store.setSetting('halt', 'now');
        expect(await store.setting('halt')).toBe('now');
        await store.releaseLeases(null, Date.now());

        // What the steps have freed, and more, is for ends alone; they take no further step for it.
        leave(disk, 256 * KIB);
        const kept = reserve.keptBytes();
        await allRefused();
        await ends();
        expect(reserve.keptBytes()).toBe(kept);

        // The next process knows it from the file, its index of searches too.
        leave(disk, 0);
        await store.close();
        leave(disk, 256 * KIB);
        const indexed = Promise.withResolvers<unknown>();
        store = await openTestStore(dataDir, {
          info() {},
          warn: (event, fields) => indexed.resolve([event, fields?.['error']]),
          error() {},
        });
        expect(await indexed.promise).toEqual(['search_index_failed', expect.any(StoreFullError)]);
        await allRefused();
        await ends();

        // With some more for what the store itself writes meanwhile.
        leave(disk, Math.ceil((5 * WHOLE_BYTES) / 4096) * 4096);
        await begin(store, waits);
        leave(disk, 0);
        await ends();
        leave(disk, Math.ceil((3 * WHOLE_BYTES) / 4096) * 4096);
        await allRefused();
        await reserve.fill();
        await begin(store, waits);
      } finally {
        await store.close();
      }
    }));

  test('what an endpoint has got is recorded on the reserve, and no call begins', () =>
    withDisk(async (disk) => {
      const dataDir = join(disk.path, 'data');
      const store = await openTestStore(dataDir);
      try {
        const account = newAccount('default');
        await store.createAccount(account);
        await store.createEndpoint(newEndpoint(account.id), 10);
        await happen(store, account);
        await happen(store, account);
        const [call] = await beginAll(store);
        if (call === undefined) throw new Error('no call');
        await new DiskReserve(dataDir).fill();
        disk.fill();
        await store.finishCall(finished(call, true));
        const refusal = await beginAll(store, 'another').catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(StoreFullError);
      } finally {
        await store.close();
      }
    }));
});
