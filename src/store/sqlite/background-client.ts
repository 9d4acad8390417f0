/**
 * The main thread's side of the background thread: keeps the search index up to date, asks for long reads and backups.
 *
 * Promises that rows are indexed some time after `noteRows`, and no more: searches scan what is not indexed yet. A
 * failure of the index is logged and tried again; neither it nor a thread that dies ends the process: what it was asked
 * fails, and the next request starts another. A backup has a thread of its own for as long as it takes, so that no read
 * waits for it. Its timers pace the work and are no times of business.
 */
import type { Log } from '../../base/log.ts';
import type { BackupReport } from '../operator.ts';
import type { BackgroundRequest, BackupRequest } from './background-messages.ts';
import { flushWhileWritten } from './copy-flush.ts';
import { draftOf, watchCopy } from './copy-watch.ts';
import type { CopyProgress } from './copy-watch.ts';
import { askedReads } from './long-reads.ts';
import type { LongRead, LongReads } from './long-reads.ts';
import { ThreadCalls } from './thread-calls.ts';

/** New rows are gathered for this long: a larger step costs less per row, a later one makes searches scan more. */
const GATHER_MS = 1000;
/** Wait before the next try after a failure, a full disk for example. */
const RETRY_MS = 30_000;

export class BackgroundClient {
  readonly #calls: ThreadCalls<BackgroundRequest>;
  readonly #log: Log;
  readonly #backups = new Set<Promise<BackupReport>>();
  /** Null before it was opened and after it was closed. */
  #opening: BackgroundRequest | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isIndexing = false;
  #hasNewRows = false;

  constructor(log: Log) {
    this.#log = log;
    this.#calls = new ThreadCalls<BackgroundRequest>(
      'background.ts',
      () => this.#opening,
      (cause) => {
        log.error('background_thread_died', {
          cause,
          hint: 'Lists and searches under way have failed; the next one starts another thread. Report it if it repeats.',
        });
      },
    );
  }

  /** Opens the index of `dataDir`, whose other files must exist; `now` in epoch milliseconds. */
  async open(dataDir: string, now: number): Promise<void> {
    const opening = { kind: 'open', dataDir, now } as const;
    await this.#calls.ask(opening);
    this.#opening = opening;
    this.noteRows();
  }

  /** The long reads, on the background thread. */
  reads(): LongReads {
    return askedReads(<K extends LongRead>(name: K, args: Parameters<LongReads[K]>) =>
      this.#calls.ask<Awaited<ReturnType<LongReads[K]>>>({ kind: 'read', name, args }),
    );
  }

  /** There are rows that the index does not hold yet. */
  noteRows(): void {
    this.#hasNewRows = true;
    if (!this.#isIndexing) this.#indexIn(GATHER_MS);
  }

  #indexIn(ms: number): void {
    if (this.#timer !== null || this.#opening === null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#index();
    }, ms);
    this.#timer.unref();
  }

  /** Brings the index up to every row committed before the call. */
  async #index(): Promise<void> {
    this.#isIndexing = true;
    this.#hasNewRows = false;
    try {
      await this.#calls.ask({ kind: 'index' });
      if (this.#hasNewRows) this.#indexIn(GATHER_MS);
    } catch (error) {
      this.#log.warn('search_index_failed', {
        error,
        hint: 'Searches find everything, only slower. The next try is in 30 seconds; check the free disk space.',
      });
      this.#indexIn(RETRY_MS);
    }
    this.#isIndexing = false;
  }

  /** `tell`: how far it is, every few seconds. */
  async backUp(
    dataDir: string,
    file: string,
    tell: (progress: CopyProgress) => void,
  ): Promise<BackupReport> {
    const unwatch = watchCopy(draftOf(file), tell);
    const endFlushing = flushWhileWritten(draftOf(file));
    const thread = new ThreadCalls<BackupRequest>('backup-thread.ts');
    const backup = thread.ask<BackupReport>({ dataDir, file });
    this.#backups.add(backup);
    try {
      return await backup;
    } finally {
      unwatch();
      this.#backups.delete(backup);
      thread.leave();
      await endFlushing();
    }
  }

  /** Lets the process end without this thread, when the store could not be opened. */
  abandon(): void {
    this.#calls.leave();
  }

  /** Waits for backups under way. */
  async close(): Promise<void> {
    this.#opening = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.allSettled(this.#backups);
    await this.#calls.ask({ kind: 'close' });
    this.#calls.leave();
  }
}
