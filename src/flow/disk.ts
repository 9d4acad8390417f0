/**
 * Room on the disk: sends are refused before it is full, and go on by themselves when there is room again.
 *
 * Promises that the state is known within seconds either way, that reads, the queue and webhook calls
 * are never stopped by it, and that accept learns it at once, from memory. Until the first look there
 * counts as being room.
 */
import { statfs } from 'node:fs/promises';

import { ApiError } from '../base/errors.ts';
import { diskReserveBytes } from '../base/limits.ts';
import type { Context } from './context.ts';

/** Half of the five seconds within which service must be back (reliability goal 5). */
const LOOK_MS = 2_000;
/** Seconds after which a client may try again. */
const RETRY_SECONDS = 30;

const lowDisks = new WeakSet<object>();

/** Whether sends are refused for want of room. */
export function isDiskLow(ctx: Pick<Context, 'store'>): boolean {
  return lowDisks.has(ctx.store);
}

/** Throws `platform_halted` (503, with `Retry-After`) while there is too little room. */
export function refuseWhileDiskLow(ctx: Pick<Context, 'store'>): void {
  if (!isDiskLow(ctx)) return;
  throw new ApiError(
    'platform_halted',
    'The disk of this service is nearly full; sends are refused until there is room.',
    { headers: { 'Retry-After': String(RETRY_SECONDS) } },
  );
}

/** Looks every two seconds. */
export class DiskWatch {
  readonly #ctx: Pick<Context, 'config' | 'store' | 'clock' | 'log' | 'metrics'>;
  #cancel: (() => void) | null = null;
  #isStopped = false;

  constructor(ctx: Pick<Context, 'config' | 'store' | 'clock' | 'log' | 'metrics'>) {
    this.#ctx = ctx;
  }

  /** Resolves when the first look is done. */
  async start(): Promise<void> {
    await this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  async #look(): Promise<void> {
    const { config, store, clock, log, metrics } = this.#ctx;
    try {
      const { bavail, blocks, bsize } = await statfs(config.dataDir);
      const isLow = bavail * bsize < diskReserveBytes(blocks * bsize);
      if (isLow && !lowDisks.has(store)) {
        lowDisks.add(store);
        log.error('disk_low', {
          free_bytes: bavail * bsize,
          hint: `Sends are refused. Make room under ${config.dataDir}; service goes on by itself.`,
        });
      } else if (!isLow && lowDisks.delete(store)) {
        log.info('disk_has_room', { free_bytes: bavail * bsize });
      }
      metrics.isDiskLow.set({}, isLow ? 1 : 0);
    } catch (error) {
      log.warn('disk_unknown', { error });
    }
    if (!this.#isStopped) {
      this.#cancel = clock.at(clock.now() + LOOK_MS, () => void this.#look());
    }
  }
}
