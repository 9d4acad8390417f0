/**
 * The background thread: indexing for search, and the reads that take long. No message waits for it on its way.
 *
 * Promises one result to every request. Indexing goes in steps, so that reads run between them; its result comes when
 * the index has caught up, and the index is tidied in quiet times. What fails is reported as an error and tried again
 * with the next request. The quiet time is measured by a timer: it paces work and is no time of business.
 */
import { join } from 'node:path';
import { DiskReserve } from '../disk-reserve.ts';
import { StoreFullError } from '../store.ts';
import type { BackgroundRequest } from './background-messages.ts';
import { openForReading } from './database.ts';
import { Indexer, SEARCH_FILE } from './indexer.ts';
import { longReads } from './long-reads.ts';
import type { ReadFiles } from './long-reads.ts';
import { answerCalls } from './thread-calls.ts';

/** After this long without new rows the index is tidied: not while mail is busy. */
const QUIET_MS = 5000;
/** While somebody reads, a step of indexing comes no sooner than this after the last one: it takes a fifth of it. */
const STEP_EVERY_MS = 250;

/** Lets in the messages that have arrived in the meantime. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Arguments come from the main thread, whose types are those of `LongReads`. */
type Verb = (...args: unknown[]) => Promise<unknown>;

/** What is open from `open` to `close`. */
interface Open {
  reserve: DiskReserve;
  indexer: Indexer;
  files: ReadFiles;
  verbs: Map<string, Verb>;
}

class BackgroundThread {
  #open: Open | null = null;
  #tidying: ReturnType<typeof setTimeout> | undefined;
  /** Reads under way. */
  #reading = 0;

  async perform(request: BackgroundRequest): Promise<unknown> {
    switch (request.kind) {
      case 'open':
        this.#open = openAll(request.dataDir, request.now);
        return null;
      case 'index':
        await this.#index();
        return null;
      case 'read': {
        const verb = this.#open?.verbs.get(request.name);
        if (verb === undefined) throw new Error(`no read ${request.name}`);
        this.#reading += 1;
        try {
          return await verb(...request.args);
        } finally {
          this.#reading -= 1;
        }
      }
      case 'close':
        clearTimeout(this.#tidying);
        this.#close();
        return null;
    }
  }

  #close(): void {
    if (this.#open === null) return;
    const { indexer, files } = this.#open;
    // Readers first: an open reader keeps the last checkpoint from emptying the WAL.
    for (const db of [files.mail, files.logs, files.search]) db.close();
    indexer.close();
    this.#open = null;
  }

  /** Steps until the index has caught up. */
  async #index(): Promise<void> {
    clearTimeout(this.#tidying);
    for (let steppedAt = -Infinity; this.#open !== null; await pause()) {
      // A long search waits for each step; steps in a row would make it many times as long.
      if (this.#reading > 0 && performance.now() - steppedAt < STEP_EVERY_MS) continue;
      steppedAt = performance.now();
      // What was freed then is for outcomes.
      if (this.#open.reserve.isShort()) throw new StoreFullError('the disk is full');
      if (!this.#open.indexer.step()) break;
    }
    this.#tidyIn(QUIET_MS);
  }

  #tidyIn(ms: number): void {
    this.#tidying = setTimeout(() => {
      try {
        if (this.#open === null || this.#open.reserve.isShort()) return;
        if (this.#open.indexer.tidyStep()) this.#tidyIn(0);
      } catch {
        // The disk is full, most likely. Nothing waits for this; the next indexing will say what is wrong.
      }
    }, ms);
  }
}

function openAll(dataDir: string, now: number): Open {
  // First: it makes the index where there is none.
  const indexer = new Indexer(dataDir, now);
  const files: ReadFiles = {
    mail: openForReading(join(dataDir, 'mail.db')),
    logs: openForReading(join(dataDir, 'log.db')),
    search: openForReading(join(dataDir, SEARCH_FILE)),
  };
  const verbs: object = longReads(files);
  const reserve = new DiskReserve(dataDir);
  return { reserve, indexer, files, verbs: new Map<string, Verb>(Object.entries(verbs)) };
}

const thread = new BackgroundThread();
answerCalls<BackgroundRequest>(
  (request) => thread.perform(request),
  ({ kind }) => kind === 'close',
);
