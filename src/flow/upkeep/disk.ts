/**
 * Watches the free space on the disk: sends are refused before it is full, and accepted again when there is enough.
 *
 * Promises that `ctx.disk` is right within seconds either way; reads, the queue and webhook calls are never stopped by
 * it. While the disk cannot be measured, the last measurement counts.
 */
import { statfs } from 'node:fs/promises';

import type { Job } from '../../base/periodic.ts';
import type { Context } from '../context.ts';

/** Less than half of the five seconds within which sends must be accepted again (docs/reliability.md). */
const EVERY_MS = 2_000;

type WatchContext = Pick<Context, 'config' | 'disk' | 'log' | 'metrics'>;

export class DiskWatch implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure: Job['failure'];
  readonly #ctx: WatchContext;

  constructor(ctx: WatchContext) {
    this.#ctx = ctx;
    const hint = `The free space under ${ctx.config.startup.dataDir} cannot be measured; look at its disk and its permissions.`;
    this.failure = { event: 'disk_unknown', hint };
  }

  everyMs(): number {
    return EVERY_MS;
  }

  async run(): Promise<void> {
    const { config, disk, log, metrics } = this.#ctx;
    const { bavail, blocks, bsize } = await statfs(config.startup.dataDir);
    const freeBytes = bavail * bsize;
    const wasLow = disk.isLow;
    disk.measured(freeBytes, blocks * bsize);
    metrics.isDiskLow.set(disk.isLow ? 1 : 0);
    if (disk.isLow && !wasLow) {
      log.error('disk_low', {
        free_bytes: freeBytes,
        hint: `Sends are refused. Free space under ${config.startup.dataDir}; sends are accepted again by themselves.`,
      });
    } else if (!disk.isLow && wasLow) {
      log.info('disk_recovered', { free_bytes: freeBytes });
    }
  }
}
