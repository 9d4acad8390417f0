/**
 * What the main thread and the background thread send each other.
 *
 * Holds only types. A ticket is a number that the main thread chose; each gets exactly one result.
 */
import type { BackupReport } from '../operator.ts';
import type { ErrorText } from './threads.ts';

export type BackgroundRequest =
  /** `now` in epoch milliseconds. */
  | { kind: 'open'; dataDir: string; now: number }
  /** There are new rows. */
  | { kind: 'index' }
  | { kind: 'backup'; dataDir: string; file: string }
  | { kind: 'close' };

export interface ToBackground {
  ticket: number;
  request: BackgroundRequest;
}

/** `value`: the report of a backup, null for everything else. */
export type FromBackground =
  | { ticket: number; value: BackupReport | null }
  | { ticket: number; error: ErrorText };
