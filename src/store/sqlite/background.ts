/**
 * The background thread: indexing for search, and backups. No message waits for it on its way.
 *
 * Promises one result to every request. Indexing goes in steps, so that other requests run between them; its result
 * comes when the index has caught up, and the index is tidied in quiet times. What fails is reported as an error and
 * tried again with the next request. The quiet time is measured by a timer: it paces work and is no time of business.
 */
import type { BackgroundRequest, FromBackground, ToBackground } from './background-messages.ts';
import { backUp } from './backup.ts';
import type { BackupReport } from '../operator.ts';
import { Indexer } from './indexer.ts';
import { textOf } from './threads.ts';

declare const self: Worker;

/** After this long without new rows the index is tidied: not while mail is busy. */
const QUIET_MS = 5000;

/** Lets in the messages that have arrived in the meantime. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class BackgroundThread {
  /** Null before it is open and after it was closed. */
  #indexer: Indexer | null = null;
  #tidying: ReturnType<typeof setTimeout> | undefined;

  listen(): void {
    self.addEventListener('message', ({ data }: MessageEvent<ToBackground>) => {
      void this.#receive(data);
    });
  }

  async #receive({ ticket, request }: ToBackground): Promise<void> {
    try {
      send({ ticket, value: await this.#perform(request) });
    } catch (error) {
      send({ ticket, error: textOf(error) });
    }
    // Ends this thread alone; what it had open is closed.
    if (request.kind === 'close') process.exit(0);
  }

  async #perform(request: BackgroundRequest): Promise<BackupReport | null> {
    switch (request.kind) {
      case 'open':
        this.#indexer = new Indexer(request.dataDir, request.now);
        return null;
      case 'index':
        await this.#index();
        return null;
      case 'backup':
        return backUp(request.dataDir, request.file);
      case 'close':
        clearTimeout(this.#tidying);
        this.#indexer?.close();
        this.#indexer = null;
        return null;
    }
  }

  /** Steps until the index has caught up. */
  async #index(): Promise<void> {
    clearTimeout(this.#tidying);
    while (this.#indexer?.step() === true) await pause();
    this.#tidyIn(QUIET_MS);
  }

  #tidyIn(ms: number): void {
    this.#tidying = setTimeout(() => {
      try {
        if (this.#indexer?.tidyStep() === true) this.#tidyIn(0);
      } catch {
        // The disk is full, most likely. Nothing waits for this; the next indexing will say what is wrong.
      }
    }, ms);
  }
}

function send(result: FromBackground): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(result);
}

new BackgroundThread().listen();
