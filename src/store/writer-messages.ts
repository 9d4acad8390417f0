/**
 * What the main thread and the writer say to each other. Messages of one microtask travel as one list.
 *
 * Holds only types. A ticket is a number that the main thread made up; each gets exactly one answer,
 * unless the writer says `fatal`.
 */
import type { LogRecord } from './rows.ts';
import type { ErrorText } from './threads.ts';
import type { Request } from './verbs.ts';

export type ToWriter =
  | { kind: 'open'; dataDir: string; now: number }
  | { kind: 'write'; ticket: number; request: Request }
  | { kind: 'log'; ticket: number; records: LogRecord[] }
  | { kind: 'close' };

export type Answer = { ticket: number; value: unknown } | { ticket: number; error: ErrorText };

export type FromWriter =
  | { kind: 'ready' }
  /** `commitMs`: how long a durable commit took; null for log rows. */
  | { kind: 'done'; answers: Answer[]; commitMs: number | null }
  | { kind: 'closed' }
  | { kind: 'fatal'; error: ErrorText };
