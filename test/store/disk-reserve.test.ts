/** The disk reserve at the edges of what is free: from which byte on it is short, filled, and given up for a start. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import type { Mock } from 'bun:test';
import * as fs from 'node:fs';
// oxlint-disable-next-line import/no-namespace -- one function of it is replaced
import * as promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keptReserveBytes } from '../../src/base/limits.ts';
import { DiskReserve } from '../../src/store/disk-reserve.ts';

const DISK_BYTES = 4_000_000;
const WHOLE = keptReserveBytes(DISK_BYTES);

let dir: string;
let file: string;
let reserve: DiskReserve;
let free: number;
let spies: Mock<never>[];

beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'postrider-reserve-'));
  file = join(dir, 'disk.reserve');
  reserve = new DiskReserve(dir);
  const disk = (): object => ({ bavail: free / 2, blocks: DISK_BYTES / 2, bsize: 2, bfree: 1e12 });
  spies = [
    spyOn(fs, 'statfsSync').mockImplementation(disk as never),
    spyOn(promises, 'statfs').mockImplementation((async () => disk()) as never),
  ] as unknown as Mock<never>[];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  fs.rmSync(dir, { recursive: true });
});

const kept = (bytes: number): void => fs.writeFileSync(file, Buffer.alloc(bytes));

test('it is short below its whole size while the disk has less than four times that', () => {
  free = 0;
  expect([reserve.keptBytes(), reserve.isShort()]).toEqual([0, false]);
  const short = (bytes: number, freeBytes: number): boolean => {
    kept(bytes);
    free = freeBytes;
    return reserve.isShort();
  };
  expect(short(WHOLE, 0)).toBe(false);
  expect(short(WHOLE - 1, 0)).toBe(true);
  expect(short(0, 4 * WHOLE - 2)).toBe(true);
  expect(short(0, 4 * WHOLE)).toBe(false);
});

test('it is filled where that leaves as much free as it takes, for its owner alone', async () => {
  free = 2 * WHOLE - 2;
  expect([await reserve.fill(), fs.existsSync(file)]).toEqual([false, false]);
  free = 2 * WHOLE;
  const before = process.umask(0);
  expect(await reserve.fill()).toBe(true);
  process.umask(before);
  expect([reserve.keptBytes(), fs.statSync(file).mode & 0o777]).toEqual([WHOLE, 0o600]);
  expect(await reserve.fill()).toBe(false);
  fs.truncateSync(file, WHOLE - 1);
  fs.chmodSync(file, 0o644);
  free = 2;
  expect([await reserve.fill(), reserve.keptBytes()]).toEqual([true, WHOLE]);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
});

test('it is given up 64 KiB at a time to its end, and for a start what that lacks of 256 KiB', () => {
  kept(65_537);
  expect([reserve.giveUp(), reserve.keptBytes()]).toEqual([true, 1]);
  expect([reserve.giveUp(), reserve.keptBytes()]).toEqual([true, 0]);
  expect(reserve.giveUp()).toBe(false);
  kept(1_000);
  free = 262_144;
  reserve.freeForStart();
  expect(reserve.keptBytes()).toBe(1_000);
  free = 262_044;
  reserve.freeForStart();
  expect(reserve.keptBytes()).toBe(900);
  free = 0;
  reserve.freeForStart();
  expect(reserve.keptBytes()).toBe(0);
});
