/**
 * Tells a full disk from other failures.
 *
 * Promises yes for lack of space alone: of the file system, of a quota, or of a database on top of them. Never throws.
 */
import { errorCode } from '../base/error-code.ts';

const CODES: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'SQLITE_FULL',
  // SQLite's shared-memory file could not grow: the disk is full too.
  'SQLITE_IOERR_SHMSIZE',
]);

export function isDiskFull(error: unknown): boolean {
  return CODES.has(errorCode(error));
}
