/**
 * The main thread's side of the background thread: keeps the search index fresh, asks for backups.
 *
 * Promises that rows are indexed some time after `noteRows`, never that they are by then: searches scan
 * what is not indexed yet. A failure of the index is logged and tried again; it never ends the process.
 */
import type { Log } from '../base/log.ts';
import type { FromBackground, ToBackground } from './background-messages.ts';
import type { BackupReport } from './backup.ts';
import { errorOf, threadAddress } from './threads.ts';

interface Asked {
  resolve(value: BackupReport | null): void;
  reject(error: Error): void;
}

type Request = ToBackground extends infer M
  ? M extends unknown
    ? Omit<M, 'ticket'>
    : never
  : never;

/** New rows are gathered for this long: a larger step costs less a row, a later one a longer scan. */
const GATHER_MS = 1000;
/** After a failure (a full disk, say) it is tried again so much later. */
const RETRY_MS = 30_000;

export class BackgroundClient {
  readonly #worker = new Worker(threadAddress('background.ts'));
  readonly #log: Log;
  readonly #asked = new Map<number, Asked>();
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
      const asked = this.#asked.get(data.ticket);
      this.#asked.delete(data.ticket);
      if ('error' in data) asked?.reject(errorOf(data.error));
      else asked?.resolve(data.value);
    });
    this.#worker.addEventListener('error', ({ message }) => {
      this.#failure = new Error(message);
      for (const asked of this.#asked.values()) asked.reject(this.#failure);
      this.#asked.clear();
    });
  }

  /** Opens the index of `dataDir`, whose other files must exist. */
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
      this.#log.warn('search_index_failed', { error });
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

  #ask(request: Request): Promise<BackupReport | null> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const ticket = this.#nextTicket++;
    return new Promise((resolve, reject) => {
      this.#asked.set(ticket, { resolve, reject });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
      this.#worker.postMessage({ ...request, ticket });
    });
  }
}
