/**
 * What the main thread and the writer say to each other: packed, and `ToWriter` as one list for all of one
 * turn of the loop.
 *
 * Holds only types. A ticket is a number that the main thread made up; each gets exactly one answer,
 * unless the writer says `fatal`.
 */
import type { ErrorText } from './threads.ts';
import type { Request } from './verbs.ts';

export type ToWriter =
  | { kind: 'open'; dataDir: string; now: number }
  | { kind: 'write'; ticket: number; request: Request }
  | { kind: 'close' };

export type Answer = { ticket: number; value: unknown } | { ticket: number; error: ErrorText };

export type FromWriter =
  | { kind: 'ready' }
  /** `commitMs`: how long a durable commit took; null for log rows. */
  | { kind: 'done'; answers: Answer[]; commitMs: number | null }
  /** Readers have kept a checkpoint from finishing; the WAL has this many frames. */
  | { kind: 'held_up'; frames: number }
  | { kind: 'closed' }
  | { kind: 'fatal'; error: ErrorText };
