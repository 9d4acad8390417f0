/** Long files for the browser, made while they are read. */
import type { Log } from '../../base/log.ts';

/**
 * Pulled row by row, so that a slow reader keeps nothing in memory; a reader who leaves ends it. Rejects where the first
 * part fails, which can be told in words. Where a later one does the file breaks off, so that no browser takes it for
 * whole, and the log says why.
 */
export async function streamOf(
  parts: AsyncGenerator<Uint8Array>,
  log: Pick<Log, 'error'>,
): Promise<ReadableStream<Uint8Array>> {
  let first: IteratorResult<Uint8Array> | null = await parts.next();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = first ?? (await parts.next());
        first = null;
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        log.error('dashboard_download_failed', {
          error,
          hint: 'The file broke off in the browser. Save it again; see the log for what the store lacks.',
        });
        throw error;
      }
    },
    async cancel() {
      await parts.return(undefined);
    },
  });
}
