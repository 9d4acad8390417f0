/**
 * Tells a full disk from other failures.
 *
 * Promises yes for want of room alone: of the file system, a quota, or SQLite on top of them. Never throws.
 */

const CODES: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'SQLITE_FULL',
  // The shared-memory file could not grow: the disk is full too.
  'SQLITE_IOERR_SHMSIZE',
]);

export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && CODES.has(error.code);
}
