/**
 * Has counters computed for what was stored before them: the writer's steps, one after the other, with pauses.
 *
 * Promises that mail is written between the steps, and that closing waits for one step at most; the next start goes on.
 * A failure is logged and leaves the rest to the next start. Its timers pace the work and are no times of business.
 */
import type { Database } from 'bun:sqlite';
import type { Log } from '../../base/log.ts';
import type { Recounted } from './recount-mark.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows of one step at most: it holds the writer for some milliseconds where the disk is quick. */
const MOST_ROWS: Record<Recounted, number> = { outcomes: 200, harm: 1_000 };
const FEWEST_ROWS = 10;
/** After a step that took longer the next one has half as many rows. */
const LONG_STEP_MS = 25;
/** Between steps: the writer has three quarters of its time for mail. */
const PAUSE_MS = 15;
/** Steps between two lines of the log. */
const STEPS_PER_LINE = 500;

/** From when on rows are counted, in epoch milliseconds. */
export type Oldest = Record<Recounted, number>;

/** Starts what is left to do; `stop` ends it. */
export function startRecounting(
  mail: Database,
  writer: WriterClient,
  log: Log,
  oldest: Oldest,
): { stop(): Promise<void> } {
  const life = { isOver: false };
  const left = mail
    .prepare<{ name: Recounted }, []>('SELECT name FROM recounts ORDER BY name')
    .all();
  const running = runAll(
    left.map(({ name }) => name),
    { writer, log, oldest, life },
  );
  return {
    stop() {
      life.isOver = true;
      return running;
    },
  };
}

interface Run {
  writer: WriterClient;
  log: Log;
  oldest: Oldest;
  life: { readonly isOver: boolean };
}

async function runAll(names: readonly Recounted[], run: Run): Promise<void> {
  try {
    for (const name of names) await runOne(name, run);
  } catch (error) {
    run.log.warn('counters_failed', {
      error,
      hint: 'Charts and the brake lack what was stored before the upgrade. The next start goes on; check the free disk space.',
    });
  }
}

async function runOne(name: Recounted, { writer, log, oldest, life }: Run): Promise<void> {
  let rows = FEWEST_ROWS;
  for (let step = 0; !life.isOver; step += 1) {
    const beganAt = performance.now();
    const left = await writer.write('recountStep', name, oldest[name], rows);
    const isLong = performance.now() - beganAt > LONG_STEP_MS;
    rows = isLong
      ? Math.max(FEWEST_ROWS, Math.floor(rows / 2))
      : Math.min(MOST_ROWS[name], rows * 2);
    if (left === 0) {
      log.info('counters_computed', { counter: name });
      return;
    }
    if (step % STEPS_PER_LINE === 0)
      log.info('counters_computing', { counter: name, rows_left: left });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
