/**
 * Retention as verbs of the store: the writer's small steps, one after the other until nothing is left.
 *
 * Promises that other writes run between steps. Fails as any write does; what went is gone.
 */
import type { PeopleStore } from '../people.ts';
import type { RetentionStore } from '../retention.ts';
import { untilEnd } from './until-end.ts';
import type { AgingRows } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows of one step: their content may be large. */
const ROWS_PER_STEP = 100;
/** A removed suppression keeps its position for cursors this long. */
const MARKS_KEPT_MS = 7 * 86_400_000;
/** Charts show at most 30 days; the rest is for who reads the store itself. */
export const OUTCOMES_KEPT_MS = 92 * 86_400_000;
/** The brake looks at a week of whole UTC days. */
export const HARM_KEPT_MS = 9 * 86_400_000;

/** The retention verbs, over the writer. */
export function purges(writer: WriterClient): RetentionStore & Pick<PeopleStore, 'purgeAudit'> {
  const aging = (rows: AgingRows, before: number): Promise<number> =>
    untilFewer(() => writer.write('purgeStep', rows, before, ROWS_PER_STEP));
  return {
    // One file has everything.
    prepareDays: () => Promise.resolve(),
    purgeBodies: (before) =>
      untilEnd(0, (after) => writer.write('purgeBodiesStep', before, after, ROWS_PER_STEP)),
    async purgeHistory(before) {
      // Calls first: their bodies are in the events.
      let total = await aging('calls', before);
      total += await untilEnd('', (after) =>
        writer.write('purgeCallAttemptsStep', before, after, ROWS_PER_STEP),
      );
      total += await aging('events', before);
      return total + (await aging('attempts', before));
    },
    purgeMessages: (before) =>
      untilFewer(() => writer.write('purgeMessagesStep', before, ROWS_PER_STEP)),
    async purgeExpired(now, steadyNow = now) {
      let total = await aging('idempotency', steadyNow);
      total += await aging('settings', steadyNow);
      total += await untilEnd('', (after) =>
        writer.write('purgeOutcomesStep', now - OUTCOMES_KEPT_MS, after, ROWS_PER_STEP),
      );
      total += await aging('harm', now - HARM_KEPT_MS);
      return total + (await aging('suppressions', now - MARKS_KEPT_MS));
    },
    purgeAudit: (before, max) =>
      untilFewer(() => writer.write('purgeAuditStep', before, max, ROWS_PER_STEP)),
    async scrub() {
      await writer.write('scrubMail');
      await writer.writeLog('scrubLog');
    },
    purgeLogs: (accountId, before) =>
      untilFewer(() => writer.writeLog('purgeLogsStep', accountId, before, ROWS_PER_STEP)),
  };
}

/** Repeats `step` until it removes less than it may; returns the sum. */
async function untilFewer(step: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const removed = await step();
    total += removed;
    if (removed < ROWS_PER_STEP) return total;
  }
}
