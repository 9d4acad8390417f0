/**
 * What the main thread and the writer say to each other. Messages of one microtask travel as one list.
 *
 * Holds only types. A ticket is a number that the main thread made up; each gets exactly one answer,
 * unless the writer says `fatal`.
 */
import type { LogRecord } from './rows.ts';
import type { Request } from './verbs.ts';

export type ToWriter =
  | { kind: 'open'; dataDir: string; now: number }
  | { kind: 'write'; ticket: number; request: Request }
  | { kind: 'log'; ticket: number; records: LogRecord[] }
  | { kind: 'close' };

/** An error as it crosses threads. */
export interface ErrorText {
  name: string;
  message: string;
  stack?: string;
  /** Set for an `OperatorError`. */
  hint?: string;
  exitCode?: number;
}

export type Answer = { ticket: number; value: unknown } | { ticket: number; error: ErrorText };

export type FromWriter =
  | { kind: 'ready' }
  | { kind: 'done'; answers: Answer[] }
  | { kind: 'closed' }
  | { kind: 'fatal'; error: ErrorText };
