/**
 * Erasing a person as a verb of the store: the writer's steps over recipients, lists and the request log.
 *
 * Promises that other writes run between steps. Fails as any write does; what went is gone, and running it again goes on.
 */
import type { Erased, ErasureStore } from '../erasure.ts';
import { untilEnd } from './until-end.ts';
import type { ConfirmedPosition, Writes } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows that one step looks at: small ones, suppressions by their numbers alone, and those of the log with their bodies. */
const ROWS_PER_SCAN = 1_000;
const SUPPRESSIONS_PER_SCAN = 5_000;
const LOGS_PER_SCAN = 200;

type EraseStep = ReturnType<Writes['eraseStep']>;

/** The verb, over the writer. */
export function erasures(writer: WriterClient): ErasureStore {
  return {
    async eraseAddress(address, accountId) {
      const sum = { messages: 0, shared: 0, waiting: 0 };
      for (let after: string | null = ''; after !== null;) {
        const step: EraseStep = await writer.write(
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
      const logRows = await untilEnd(0, (after) =>
        writer.writeLog('eraseLogsStep', address, accountId, after, LOGS_PER_SCAN),
      );
      return { ...sum, log_rows: logRows, ...lists };
    },
  };
}

async function eraseLists(
  writer: WriterClient,
  address: string,
  accountId: string | null,
): Promise<Pick<Erased, 'confirmed' | 'suppressions_kept'>> {
  const confirmed = await untilEnd<ConfirmedPosition>({ accountId: '', email: '' }, (after) =>
    writer.write('eraseConfirmedStep', address, accountId, after, ROWS_PER_SCAN),
  );
  const kept = await untilEnd(0, async (after) => {
    const of = [address, accountId, after, SUPPRESSIONS_PER_SCAN] as const;
    const step = await writer.write('eraseSuppressionsStep', ...of);
    return { removed: step.kept, next: step.next };
  });
  return { confirmed, suppressions_kept: kept };
}
