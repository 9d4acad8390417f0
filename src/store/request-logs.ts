/**
 * The port for the request log: one row an API request, apart from the mail.
 *
 * Promises that mail never waits for it. Not durable to the last row: a power cut may take what was appended last.
 */
import type { Page, PageOf } from './pages.ts';
import type { LogRecord } from './rows.ts';

export interface LogFilter extends Page {
  /** Substring of the path. */
  q: string | null;
  /** 404, or the class digit 2, 4 or 5. */
  status: number | null;
  method: string | null;
  /** Only requests with this key. */
  keyId?: string | null;
  /** Only requests from this moment on, and before that one (epoch milliseconds), as exactly as requests are long. */
  since?: number | null;
  until?: number | null;
  /** Only requests of sandbox keys. */
  isSandboxOnly?: boolean;
}

/** A row of the list: without the stored bodies. */
export type LogSummary = Omit<LogRecord, 'requestBody' | 'responseBody'>;

export interface RequestLogStore {
  /** A repeated id is ignored. */
  appendLogs(records: LogRecord[]): Promise<void>;
  /** Newest first. */
  logs(accountId: string, filter: LogFilter): Promise<PageOf<LogSummary>>;
  log(accountId: string, id: string): Promise<LogRecord | null>;
}
