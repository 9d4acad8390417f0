/**
 * Imports of suppressions that go on behind a page: started with a file, looked at while they run.
 *
 * Promises one import at a time, so that memory holds one file, and that its state can be read at any moment. Lives in
 * memory: a restart ends an import and forgets its state; importing the file again adds nothing twice.
 */
import { ApiError } from '../../base/errors.ts';
import type { Context } from '../context.ts';
import { importSuppressions, type ImportResult } from './csv-import.ts';
import { CsvError } from './csv.ts';

export interface ImportState {
  name: string;
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number | null;
  bytes: number;
  /** Bytes read so far. */
  read: number;
  result: ImportResult;
  /** Why it ended early, in one sentence; what was read before is imported. */
  problem: string | null;
}

type ImportContext = Pick<Context, 'clock' | 'ids' | 'store' | 'log'>;

export class SuppressionImports {
  readonly #ctx: ImportContext;
  /** The last import of each account. */
  readonly #states = new Map<string, ImportState>();
  #isRunning = false;

  constructor(ctx: ImportContext) {
    this.#ctx = ctx;
  }

  /** Begins to import `file`. `ended` resolves when it has ended, however. Throws `conflict` while another one runs. */
  start(accountId: string, file: Blob, name: string): { ended: Promise<void> } {
    if (this.#isRunning) {
      throw new ApiError('conflict', 'Another import is under way. Try again when it has ended.');
    }
    const state: ImportState = {
      name,
      startedAt: this.#ctx.clock.now(),
      endedAt: null,
      bytes: file.size,
      read: 0,
      result: { rows: 0, added: 0, known: 0, bad: 0, named: [] },
      problem: null,
    };
    this.#states.set(accountId, state);
    this.#isRunning = true;
    return { ended: this.#run(accountId, file, state) };
  }

  /** The import that runs, or the last one; null when there was none since the start. */
  of(accountId: string): ImportState | null {
    return this.#states.get(accountId) ?? null;
  }

  async #run(accountId: string, file: Blob, state: ImportState): Promise<void> {
    try {
      state.result = await importSuppressions(
        this.#ctx,
        accountId,
        counted(file, state),
        (soFar) => (state.result = { ...soFar }),
      );
    } catch (error) {
      state.problem =
        error instanceof CsvError
          ? `This is not CSV: ${error.message}.`
          : 'The import failed; the server log says why.';
      if (!(error instanceof CsvError)) {
        this.#ctx.log.error('suppression_import_failed', {
          error,
          hint: 'What was read before is imported. Import the file again: nothing is added twice.',
        });
      }
    } finally {
      state.endedAt = this.#ctx.clock.now();
      this.#isRunning = false;
    }
  }
}

async function* counted(file: Blob, state: ImportState): AsyncGenerator<Uint8Array> {
  for await (const chunk of file.stream()) {
    yield chunk;
    state.read += chunk.length;
  }
}
