/**
 * Watches the free space on the disk: sends are refused before it is full, and accepted again when there is enough; and
 * keeps the reserve that outcomes are written in when it is full all the same.
 *
 * Promises that `ctx.disk` is right within seconds either way, and that the reserve is whole within seconds of the
 * space for it; reads, the queue and webhook calls are never stopped by it. While the disk cannot be measured, the last
 * measurement counts.
 */
import { statfs } from 'node:fs/promises';

import type { Job } from '../../base/periodic.ts';
import { DiskReserve } from '../../store/disk-reserve.ts';
import type { Context } from '../context.ts';

/** Less than half of the five seconds within which sends must be accepted again (docs/reliability.md). */
const EVERY_MS = 2_000;

type WatchContext = Pick<Context, 'config' | 'disk' | 'log' | 'metrics'>;

export class DiskWatch implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure: Job['failure'];
  readonly #ctx: WatchContext;
  readonly #reserve: DiskReserve;
  /** Whether the reserve was short, and could not be written, when it was last looked at. */
  #wasShort = false;
  #wasFaulty = false;

  constructor(ctx: WatchContext) {
    this.#ctx = ctx;
    this.#reserve = new DiskReserve(ctx.config.startup.dataDir);
    const hint = `The free space under ${ctx.config.startup.dataDir} cannot be measured; look at its disk and its permissions.`;
    this.failure = { event: 'disk_unknown', hint };
  }

  everyMs(): number {
    return EVERY_MS;
  }

  async run(): Promise<void> {
    const { config, disk, log, metrics } = this.#ctx;
    const { bavail, blocks, bsize } = await statfs(config.startup.dataDir);
    const keptBytes = this.#reserve.keptBytes();
    const freeBytes = bavail * bsize;
    const wasLow = disk.isLow;
    disk.measured({ freeBytes, keptBytes, totalBytes: blocks * bsize });
    metrics.isDiskLow.set(disk.isLow ? 1 : 0);
    if (disk.isLow && !wasLow) {
      log.error('disk_low', {
        free_bytes: freeBytes,
        kept_bytes: keptBytes,
        hint: `Sends are refused. Free space under ${config.startup.dataDir}; sends are accepted again by themselves.`,
      });
    } else if (!disk.isLow && wasLow) {
      log.info('disk_recovered', { free_bytes: freeBytes, kept_bytes: keptBytes });
    }
    await this.#keepReserve();
  }

  /** Says once that the reserve was given up, and when it is whole again. */
  async #keepReserve(): Promise<void> {
    const { config, log } = this.#ctx;
    const kept_bytes = this.#reserve.keptBytes();
    try {
      const isMade = await this.#reserve.fill();
      this.#wasFaulty = false;
      const isShort = this.#reserve.isShort();
      if (isShort && !this.#wasShort) {
        log.error('disk_reserve_used', {
          kept_bytes,
          hint: `The disk is full: only outcomes of what was begun are still written. Free space under ${config.startup.dataDir}.`,
        });
      } else if (isMade) {
        log.info('disk_reserve_made', { kept_bytes: this.#reserve.keptBytes() });
      }
      this.#wasShort = isShort;
    } catch (error) {
      if (!this.#wasFaulty) {
        log.warn('disk_reserve_failed', {
          error,
          hint: `Nothing is kept back for a full disk. Let the service write disk.reserve in ${config.startup.dataDir}.`,
        });
      }
      this.#wasFaulty = true;
    }
  }
}
