/**
 * Deleting an account as verbs of the store: the writer's steps, one after the other until nothing is left.
 *
 * Promises that other writes run between steps. Fails as any write does; what went is gone, and running it again goes on.
 */
import type { AccountDeletionStore, DeletedRows } from '../account-deletion.ts';
import type { WaitingStep } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Whole messages of one step: their content may be large. */
const MESSAGES_PER_STEP = 50;
/** Small rows of one step, and rows that one step looks at. */
const ROWS_PER_STEP = 1_000;
/** Each has a page or two of its own. */
const DOMAINS_PER_STEP = 200;

/** The verbs, over the writer. */
export function accountDeletions(writer: WriterClient): AccountDeletionStore {
  return {
    closeAccount: (accountId, reason) => writer.write('closeAccount', accountId, reason),
    async removeAccount(accountId, settings, progress) {
      const sum: DeletedRows = {
        messages: 0,
        log_rows: 0,
        suppressions: 0,
        confirmed: 0,
        domains: 0,
        webhooks: 0,
      };
      await stopWaiting(writer, accountId);
      for (;;) {
        await dropMessages(writer, accountId, (count) => progress((sum.messages += count)));
        await dropLists(writer, accountId, sum);
        const end = await writer.write('dropAccountEnd', accountId, [...settings]);
        sum.domains += end.domains;
        sum.webhooks += end.webhooks;
        // A request that was under way has written something meanwhile.
        if (!end.isGone) continue;
        sum.log_rows = await dropLogs(writer, accountId);
        return sum;
      }
    },
  };
}

/** First of all: what waits for delivery waits no more. */
async function stopWaiting(writer: WriterClient, accountId: string): Promise<void> {
  for (let after: WaitingStep = { dueAt: 0, id: '' }; ;) {
    const next: WaitingStep | null = await writer.write(
      'stopWaitingStep',
      accountId,
      after,
      ROWS_PER_STEP,
    );
    if (next === null) return;
    after = next;
  }
}

async function dropMessages(
  writer: WriterClient,
  accountId: string,
  note: (count: number) => void,
): Promise<void> {
  for (;;) {
    const count = await writer.write('dropAccountMessagesStep', accountId, MESSAGES_PER_STEP);
    if (count > 0) note(count);
    if (count < MESSAGES_PER_STEP) return;
  }
}

async function dropLists(writer: WriterClient, accountId: string, sum: DeletedRows): Promise<void> {
  for (;;) {
    const step = await writer.write('dropAccountRowsStep', accountId, ROWS_PER_STEP);
    sum.suppressions += step.suppressions;
    sum.confirmed += step.confirmed;
    if (step.left === 0) break;
  }
  for (let count = DOMAINS_PER_STEP; count === DOMAINS_PER_STEP;) {
    count = await writer.write('dropAccountDomainsStep', accountId, DOMAINS_PER_STEP);
    sum.domains += count;
  }
}

async function dropLogs(writer: WriterClient, accountId: string): Promise<number> {
  for (let total = 0; ;) {
    const count = await writer.writeLog('dropAccountLogsStep', accountId, ROWS_PER_STEP);
    total += count;
    if (count < ROWS_PER_STEP) return total;
  }
}
