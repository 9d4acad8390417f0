/**
 * Backups that go on behind a page: begun by an operator, written into `backups/` of the data directory.
 *
 * Promises one at a time, and that what the last one came to can be read at any moment. The file holds the secret key:
 * it stays on the machine, readable by the service alone. A restart ends a backup; its half file is not left behind.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { ApiError, OperatorError } from '../../base/errors.ts';
import type { BackupReport } from '../../store/operator.ts';
import type { Context } from '../context.ts';

export type BackupState =
  | { kind: 'running'; startedAt: number }
  | { kind: 'done'; endedAt: number; report: BackupReport }
  | { kind: 'failed'; endedAt: number; problem: string };

type BackupContext = Pick<Context, 'clock' | 'config' | 'store' | 'log'>;

export class Backups {
  readonly #ctx: BackupContext;
  #state: BackupState | null = null;

  constructor(ctx: BackupContext) {
    this.#ctx = ctx;
  }

  /** What the last backup came to; null when there was none since the start. */
  get last(): BackupState | null {
    return this.#state;
  }

  /** Begins a backup. `ended` resolves when it has ended, however. Throws `conflict` while one runs. */
  start(): { ended: Promise<void> } {
    if (this.#state?.kind === 'running') {
      throw new ApiError('conflict', 'A backup is being written already.');
    }
    const startedAt = this.#ctx.clock.now();
    this.#state = { kind: 'running', startedAt };
    return { ended: this.#run(startedAt) };
  }

  async #run(startedAt: number): Promise<void> {
    const { clock, config, store, log } = this.#ctx;
    const folder = join(config.startup.dataDir, 'backups');
    const time = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '');
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const report = await store.backUpTo(join(folder, `postrider-${time}.backup`));
      this.#state = { kind: 'done', endedAt: clock.now(), report };
    } catch (error) {
      const isToldWhy = error instanceof OperatorError;
      const problem = isToldWhy ? `${error.message} ${error.hint}` : 'The server log says why.';
      this.#state = { kind: 'failed', endedAt: clock.now(), problem };
      if (isToldWhy) return;
      log.error('backup_failed', {
        error,
        hint: 'Nothing of the backup is left. Look at the disk of data_dir, then make it again.',
      });
    }
  }
}
