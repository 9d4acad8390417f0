/**
 * The request log: what every request with a valid key asked and was answered.
 *
 * Promises that writing never delays an answer: rows are gathered and written in batches. A row may be
 * lost in a crash, never half written; `flush` makes the log complete up to now, so that reading it
 * shows the caller's own last request. A full disk costs rows, not requests.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { LogRecord } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

const BATCH_ROWS = 200;
const WRITE_EVERY_MS = 500;

export class RequestLog {
  readonly #clock: Clock;
  readonly #store: Pick<Store, 'appendLogs'>;
  readonly #log: Log;
  #rows: LogRecord[] = [];
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { clock: Clock; store: Pick<Store, 'appendLogs'>; log: Log }) {
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#log = parts.log;
  }

  /** Takes a row; never waits, never throws. */
  add(row: LogRecord): void {
    this.#rows.push(row);
    if (this.#rows.length >= BATCH_ROWS) void this.flush();
    else
      this.#cancel ??= this.#clock.at(this.#clock.now() + WRITE_EVERY_MS, () => void this.flush());
  }

  /** Resolves when every row taken so far is written (or given up). */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    const rows = this.#rows;
    if (rows.length === 0) return this.#writing;
    this.#rows = [];
    const before = this.#writing;
    this.#writing = this.#write(before, rows);
    return this.#writing;
  }

  async #write(before: Promise<void>, rows: LogRecord[]): Promise<void> {
    await before;
    try {
      await this.#store.appendLogs(rows);
    } catch (error) {
      this.#log.warn('request log rows lost', { rows: rows.length, error });
    }
  }
}
