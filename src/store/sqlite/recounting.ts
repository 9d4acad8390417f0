/**
 * Has counters computed for what was stored before them: the writer's steps, one after the other, with pauses.
 *
 * Promises that mail is written between the steps, and that closing waits for one step at most; the next start goes on.
 * A failure is logged and leaves the rest to the next start. Its timers pace the work and are no times of business.
 */
import type { Database } from 'bun:sqlite';
import type { Log } from '../../base/log.ts';
import type { WriterClient } from './writer-client.ts';

/** Messages of one step: it holds the writer for some milliseconds. */
const MESSAGES_PER_STEP = 200;
/** Between steps: the writer has three quarters of its time for mail. */
const PAUSE_MS = 15;
/** Steps between two lines of the log. */
const STEPS_PER_LINE = 500;

/** Starts what is left to do. `oldest`: epoch milliseconds; what is older is not counted. Resolves to what stops it. */
export function startRecounting(
  mail: Database,
  writer: WriterClient,
  log: Log,
  oldest: number,
): { stop(): Promise<void> } {
  const life = { isOver: false };
  const isLeft = mail.prepare('SELECT 1 FROM recounts').get() !== null;
  const running = isLeft ? run(writer, log, oldest, life) : Promise.resolve();
  return {
    stop() {
      life.isOver = true;
      return running;
    },
  };
}

async function run(
  writer: WriterClient,
  log: Log,
  oldest: number,
  life: { readonly isOver: boolean },
): Promise<void> {
  try {
    for (let step = 0; !life.isOver; step += 1) {
      const left = await writer.write('recountStep', oldest, MESSAGES_PER_STEP);
      if (left === 0) {
        log.info('counters_computed');
        return;
      }
      if (step % STEPS_PER_LINE === 0) log.info('counters_computing', { messages_left: left });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } catch (error) {
    log.warn('counters_failed', {
      error,
      hint: 'Charts lack what was sent before the upgrade. The next start goes on; check the free disk space.',
    });
  }
}
