/**
 * What the main thread asks of the background thread and of the thread of a backup.
 *
 * Holds only types. Each request gets one result (`thread-calls.ts`).
 */
import type { LongRead } from './long-reads.ts';

export type BackgroundRequest =
  /** `now` in epoch milliseconds. */
  | { kind: 'open'; dataDir: string; now: number }
  /** There are new rows. Its result is null. */
  | { kind: 'index' }
  /** Its result is the verb's. */
  | { kind: 'read'; name: LongRead; args: unknown[] }
  | { kind: 'close' };

/** Its result is a `BackupReport`. */
export interface BackupRequest {
  dataDir: string;
  file: string;
}
