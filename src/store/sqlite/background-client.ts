/**
 * The main thread's side of the background thread: keeps the search index up to date, asks for backups.
 *
 * Promises that rows are indexed some time after `noteRows`, and no more: searches scan what is not indexed yet. A
 * failure of the index is logged and tried again; it never ends the process. Its timers pace the work and are no times
 * of business.
 */
import type { Log } from '../../base/log.ts';
import type { BackgroundRequest, FromBackground, ToBackground } from './background-messages.ts';
import type { BackupReport } from '../operator.ts';
import { errorOf, threadAddress } from './threads.ts';

interface Pending {
  resolve(value: BackupReport | null): void;
  reject(error: Error): void;
}

/** New rows are gathered for this long: a larger step costs less per row, a later one makes searches scan more. */
const GATHER_MS = 1000;
/** Wait before the next try after a failure, a full disk for example. */
const RETRY_MS = 30_000;

export class BackgroundClient {
  readonly #worker = new Worker(threadAddress('background.ts'));
  readonly #log: Log;
  readonly #pending = new Map<number, Pending>();
  #nextTicket = 1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isIndexing = false;
  #hasNewRows = false;
  #isClosed = false;
  /** Why the thread has ended, when it has. */
  #failure: Error | null = null;

  constructor(log: Log) {
    this.#log = log;
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromBackground>) => {
      const pending = this.#pending.get(data.ticket);
      this.#pending.delete(data.ticket);
      if ('error' in data) pending?.reject(errorOf(data.error));
      else pending?.resolve(data.value);
    });
    this.#worker.addEventListener('error', ({ message }) => {
      this.#failure = new Error(message);
      for (const pending of this.#pending.values()) pending.reject(this.#failure);
      this.#pending.clear();
    });
  }

  /** Opens the index of `dataDir`, whose other files must exist; `now` in epoch milliseconds. */
  async open(dataDir: string, now: number): Promise<void> {
    await this.#ask({ kind: 'open', dataDir, now });
    this.noteRows();
  }

  /** There are rows that the index does not hold yet. */
  noteRows(): void {
    this.#hasNewRows = true;
    if (!this.#isIndexing) this.#indexIn(GATHER_MS);
  }

  #indexIn(ms: number): void {
    if (this.#timer !== null || this.#isClosed) return;
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
      await this.#ask({ kind: 'index' });
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

  async backUp(dataDir: string, file: string): Promise<BackupReport> {
    const report = await this.#ask({ kind: 'backup', dataDir, file });
    if (report === null) throw new Error('the backup gave no report');
    return report;
  }

  /** Lets the process end without this thread, when the store could not be opened. */
  abandon(): void {
    this.#worker.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#failure === null) await this.#ask({ kind: 'close' });
    this.#worker.unref();
  }

  #ask(request: BackgroundRequest): Promise<BackupReport | null> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const ticket = this.#nextTicket++;
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject });
      const message: ToBackground = { ticket, request };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
      this.#worker.postMessage(message);
    });
  }
}
