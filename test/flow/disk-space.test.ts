/** Bytes that are accepted between two looks at the disk, counted so that they never reach the reserve. */
import { expect, test } from 'bun:test';

import { DiskSpace } from '../../src/flow/disk-space.ts';
import { refusal } from './fixture.ts';

const MIB = 1024 * 1024;
/** Of 100 MiB, 5 are the reserve. */
const TOTAL = 100 * MIB;
const free = (mib: number) => ({ freeBytes: mib * MIB, keptBytes: 0, totalBytes: TOTAL });
const message = (mib: number) => ({ contentBytes: mib * MIB, recipients: 1 });

test('what is being written and what was written since the last look count, until the next look', async () => {
  const disk = new DiskSpace();
  disk.measured(free(25));
  let end = (): void => undefined;
  const written = new Promise<void>((resolve) => {
    end = resolve;
  });
  const first = disk.spend(message(4), () => written);
  // 20 MiB are usable: 8 are under way, so a second 8 fit and a third do not.
  await disk.spend(message(4), () => Promise.resolve());
  const write = { isCalled: false };
  const third = disk.spend(message(4), async () => {
    write.isCalled = true;
  });
  expect((await refusal(third)).code).toBe('platform_halted');
  expect(write.isCalled).toBe(false);
  // A look in the middle has seen the second; the first, still under way, goes on counting.
  disk.measured(free(15));
  expect((await refusal(disk.spend(message(4), () => Promise.resolve()))).status).toBe(503);
  end();
  await first;
  disk.measured(free(25));
  await disk.spend(message(4), () => Promise.resolve());
});

test('a write that fails counts until the next look, since it may have left bytes', async () => {
  const disk = new DiskSpace();
  disk.measured(free(15));
  await disk.spend(message(4), () => Promise.reject(new Error('io'))).catch(() => undefined);
  expect((await refusal(disk.spend(message(4), () => Promise.resolve()))).code).toBe(
    'platform_halted',
  );
});

test('before the first look there is enough, below the reserve there is none', async () => {
  const disk = new DiskSpace();
  await disk.spend(message(1_000), () => Promise.resolve());
  disk.measured(free(4));
  expect(disk.isLow).toBe(true);
  expect(() => disk.refuseWhileLow()).toThrow('nearly full');
});

test('what the reserve file holds back counts as free: giving it up changes nothing', () => {
  const disk = new DiskSpace();
  disk.measured({ ...free(3), keptBytes: 2 * MIB });
  expect(disk.isLow).toBe(false);
  disk.measured({ ...free(3), keptBytes: 2 * MIB - 1 });
  expect(disk.isLow).toBe(true);
  disk.measured({ ...free(5), keptBytes: 0 });
  expect(disk.isLow).toBe(false);
  expect(disk.last).toEqual({ ...free(5), reserveBytes: 5 * MIB });
});

test('content counts twice and a recipient 8 KiB, to the byte; nothing at all is always taken', async () => {
  const spend = (usable: number, contentBytes: number, recipients: number) => {
    const disk = new DiskSpace();
    disk.measured({ freeBytes: 5 * MIB + usable, keptBytes: 0, totalBytes: TOTAL });
    return disk.spend({ contentBytes, recipients }, () => Promise.resolve('written'));
  };
  expect(await spend(2 * 1_000 + 3 * 8_192, 1_000, 3)).toBe('written');
  const refused = await refusal(spend(2 * 1_000 + 3 * 8_192 - 1, 1_000, 3));
  expect(refused).toMatchObject({
    code: 'platform_halted',
    message:
      'The disk of this service is nearly full; sends are refused until there is free space.',
    headers: { 'Retry-After': '30' },
  });
  expect(await spend(-1, 0, 0)).toBe('written');
  expect(await spend(2, 1, 0)).toBe('written');
  expect((await refusal(spend(1, 1, 0))).headers).toEqual({ 'Retry-After': '30' });
});

test('what was written counts as much as while it was being written, to the byte', async () => {
  const one = { contentBytes: 1_000, recipients: 3 };
  const bytes = 2 * 1_000 + 3 * 8_192;
  for (const usable of [2 * bytes, 2 * bytes - 1]) {
    const disk = new DiskSpace();
    disk.measured({ freeBytes: 5 * MIB + usable, keptBytes: 0, totalBytes: TOTAL });
    await disk.spend(one, () => Promise.resolve());
    const second = disk.spend(one, () => Promise.resolve('written'));
    expect(await second.catch(({ code }: { code: string }) => code)).toBe(
      usable === 2 * bytes ? 'written' : 'platform_halted',
    );
  }
});

test('a look finds free space again, and nobody is refused any more', () => {
  const disk = new DiskSpace();
  expect([disk.last, disk.isLow]).toEqual([null, false]);
  disk.measured(free(4));
  disk.measured(free(5));
  disk.refuseWhileLow();
  expect(disk.isLow).toBe(false);
});
