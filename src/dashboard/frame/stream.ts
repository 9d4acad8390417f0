/** Long files for the browser, made while they are read. */
import type { Log } from '../../base/log.ts';

/**
 * Pulled row by row, so that a slow reader keeps nothing in memory; a reader who leaves ends it. Where `parts` fail the
 * file breaks off, so that no browser takes it for whole, and the log says why.
 */
export function streamOf(
  parts: AsyncGenerator<Uint8Array>,
  log: Pick<Log, 'error'>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await parts.next();
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
