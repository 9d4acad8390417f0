/**
 * Erasing a person as a verb of the store: the writer's steps over recipients, lists and the request log.
 *
 * Promises that other writes run between steps. Fails as any write does; what went is gone, and running it again goes on.
 */
import type { Erased, ErasureStore } from '../erasure.ts';
import type { BodiesStep, ConfirmedPosition, Writes } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows that one step looks at: small ones, suppressions by their numbers alone, and those of the log with their bodies. */
const ROWS_PER_SCAN = 1_000;
const SUPPRESSIONS_PER_SCAN = 5_000;
const LOGS_PER_SCAN = 200;

type Step<Verb extends keyof Writes> = ReturnType<Writes[Verb]>;

/** The verb, over the writer. */
export function erasures(writer: WriterClient): ErasureStore {
  return {
    async eraseAddress(address, accountId) {
      const sum = { messages: 0, shared: 0, waiting: 0, log_rows: 0 };
      for (let after: string | null = ''; after !== null;) {
        const step: Step<'eraseStep'> = await writer.write(
          'eraseStep',
          address,
          accountId,
          after,
          ROWS_PER_SCAN,
        );
        sum.messages += step.messages;
        sum.shared += step.shared;
        sum.waiting += step.waiting;
        after = step.next;
      }
      const lists = await eraseLists(writer, address, accountId);
      for (let after: number | null = 0; after !== null;) {
        const step: BodiesStep = await writer.writeLog(
          'eraseLogsStep',
          address,
          accountId,
          after,
          LOGS_PER_SCAN,
        );
        sum.log_rows += step.removed;
        after = step.next;
      }
      return { ...sum, ...lists };
    },
  };
}

async function eraseLists(
  writer: WriterClient,
  address: string,
  accountId: string | null,
): Promise<Pick<Erased, 'confirmed' | 'suppressions_kept'>> {
  const sum = { confirmed: 0, suppressions_kept: 0 };
  for (let after: ConfirmedPosition | null = { accountId: '', email: '' }; after !== null;) {
    const step: Step<'eraseConfirmedStep'> = await writer.write(
      'eraseConfirmedStep',
      address,
      accountId,
      after,
      ROWS_PER_SCAN,
    );
    sum.confirmed += step.removed;
    after = step.next;
  }
  for (let after: number | null = 0; after !== null;) {
    const step: Step<'eraseSuppressionsStep'> = await writer.write(
      'eraseSuppressionsStep',
      address,
      accountId,
      after,
      SUPPRESSIONS_PER_SCAN,
    );
    sum.suppressions_kept += step.kept;
    after = step.next;
  }
  return sum;
}
