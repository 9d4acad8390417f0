/**
 * The request log: one row for every request with a valid key, and its response.
 *
 * What comes in: each handled request as a row (`log-row.ts`), its bodies without secrets (`redaction.ts`). Rows are
 * collected and written in batches, so that no response waits for them. `flush` writes all rows so far, so that a
 * caller who reads the log finds its own last request. A crash loses the rows not yet written, never half a row; a full
 * disk costs rows, not requests.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { LogRecord } from '../../store/rows.ts';
import type { RequestLogStore } from '../../store/request-logs.ts';

const BATCH_ROWS = 200;
const WRITE_EVERY_MS = 500;

/** Collects rows and writes them in batches. One per appliance. */
export class RequestLog {
  readonly #clock: Clock;
  readonly #store: Pick<RequestLogStore, 'appendLogs'>;
  readonly #log: Log;
  #rows: LogRecord[] = [];
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { clock: Clock; store: Pick<RequestLogStore, 'appendLogs'>; log: Log }) {
    this.#clock = parts.clock;
    this.#store = parts.store;
    this.#log = parts.log;
  }

  /** Adds a row; never waits, never throws. */
  add(row: LogRecord): void {
    this.#rows.push(row);
    if (this.#rows.length >= BATCH_ROWS) void this.flush();
    else this.#cancel ??= this.#clock.after(WRITE_EVERY_MS, () => void this.flush());
  }

  /** Resolves when every row added so far is written, or lost and logged. Never rejects. */
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
      this.#log.warn('request_log_rows_lost', { rows: rows.length, error });
    }
  }
}
