/**
 * Erasing a person as a verb of the store: the writer's steps over recipients, lists and the request log.
 *
 * Promises that other writes run between steps. Fails as any write does; what went is gone, and running it again goes on.
 */
import type { ErasureStore } from '../erasure.ts';
import type { BodiesStep, Writes } from './verbs.ts';
import type { WriterClient } from './writer-client.ts';

/** Rows that one step looks at. */
const ROWS_PER_SCAN = 1000;

type EraseStep = ReturnType<Writes['eraseStep']>;

/** The verb, over the writer. */
export function erasures(writer: WriterClient): ErasureStore {
  return {
    async eraseAddress(address, accountId) {
      const sum = { messages: 0, shared: 0, waiting: 0, log_rows: 0 };
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
      const lists = await writer.write('eraseLists', address, accountId);
      for (let after: number | null = 0; after !== null;) {
        const step: BodiesStep = await writer.writeLog(
          'eraseLogsStep',
          address,
          accountId,
          after,
          ROWS_PER_SCAN,
        );
        sum.log_rows += step.removed;
        after = step.next;
      }
      return { ...sum, ...lists };
    },
  };
}
