/** What the host check says of the disk: the limits of sends, and what the reserve file holds. */
import { expect, test } from 'bun:test';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineMachine } from '../../src/health/machine.ts';
import { DiskReserve } from '../../src/store/disk-reserve.ts';
import { createResolver } from '../../src/wire/dns/dns.ts';
import { describeWith } from '../rig/programs.ts';
import { makeSmallDisk } from '../rig/small-disk.ts';

const MIB = 1024 * 1024;
const DISK_BYTES = 40 * MIB;
/** 5 % of it. */
const LIMIT_BYTES = 2 * MIB;

describeWith(['mount', 'small disk'], 'the host check', () => {
  test('counts what the reserve holds as free, and says so', async () => {
    const disk = makeSmallDisk(DISK_BYTES);
    try {
      const config = parseConfig(`hostname = "mail.shop.example"\ndata_dir = "${disk.path}"`, 'f');
      const resolver = createResolver({
        servers: [{ host: '127.0.0.1', port: 1 }],
        clock: systemClock,
      });
      const ctx = { config, clock: systemClock, resolver };
      const seen = async (freeBytes: number): Promise<(string | undefined)[]> => {
        disk.clear();
        disk.fill(freeBytes);
        const found = (await examineMachine(ctx)).find(({ check }) => check === 'disk');
        return [found?.level, found?.summary.replace(disk.path, 'D')];
      };
      expect(await seen(LIMIT_BYTES)).toEqual([
        'warning',
        '2 MiB (5 %) are free on the disk of D.',
      ]);
      expect(await seen(LIMIT_BYTES - 4096)).toEqual([
        'error',
        '1 MiB (4 %) are free on the disk of D.',
      ]);
      disk.clear();
      await new DiskReserve(disk.path).fill();
      const kept = ', 1 MiB of them kept back in disk.reserve.';
      expect(await seen(LIMIT_BYTES / 2)).toEqual([
        'warning',
        `2 MiB (5 %) are free on the disk of D${kept}`,
      ]);
      expect(await seen(LIMIT_BYTES / 2 - 4096)).toEqual([
        'error',
        `1 MiB (4 %) are free on the disk of D${kept}`,
      ]);
      expect((await seen(3.5 * LIMIT_BYTES - 4096))[0]).toBe('warning');
      expect(await seen(3.5 * LIMIT_BYTES)).toEqual([
        'ok',
        `8 MiB (20 %) are free on the disk of D${kept}`,
      ]);
    } finally {
      disk.unmount();
    }
  });
});
