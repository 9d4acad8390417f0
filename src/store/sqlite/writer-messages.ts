/**
 * What the main thread and the writer send each other: packed, and `ToWriter` as one list for all of one tick of the
 * event loop.
 *
 * Holds only types. A ticket is a number that the main thread chose; each gets exactly one result, unless the writer
 * says `fatal`.
 */
import type { SchemaStep } from '../schema-step.ts';
import type { ErrorText } from './threads.ts';
import type { Request } from './verbs.ts';

export type ToWriter =
  /** `now` in epoch milliseconds. */
  | { kind: 'open'; dataDir: string; now: number }
  | { kind: 'write'; ticket: number; request: Request }
  | { kind: 'close' };

export type WriteResult = { ticket: number; value: unknown } | { ticket: number; error: ErrorText };

export type FromWriter =
  /** Before it is `ready`. */
  | { kind: 'schema_step'; step: SchemaStep }
  | { kind: 'ready' }
  /** `commitMs`: how long a durable commit took; null for log rows. */
  | { kind: 'done'; results: WriteResult[]; commitMs: number | null }
  /** Readers have kept a checkpoint from finishing; the WAL has this many frames. */
  | { kind: 'checkpoint_blocked'; frames: number }
  | { kind: 'closed' }
  | { kind: 'fatal'; error: ErrorText };
