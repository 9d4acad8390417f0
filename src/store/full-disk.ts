/** Whether a failure means that there is no room: of the file system, a quota, or SQLite on top of them. */
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
