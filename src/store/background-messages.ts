/**
 * What the main thread and the background thread say to each other.
 *
 * Holds only types. A ticket is a number that the main thread made up; each gets exactly one answer.
 */
import type { BackupReport } from './backup.ts';
import type { ErrorText } from './threads.ts';

export type ToBackground =
  | { kind: 'open'; ticket: number; dataDir: string; now: number }
  /** There are new rows. */
  | { kind: 'index'; ticket: number }
  | { kind: 'backup'; ticket: number; dataDir: string; file: string }
  | { kind: 'close'; ticket: number };

export type FromBackground =
  | { ticket: number; value: BackupReport | null }
  | { ticket: number; error: ErrorText };
