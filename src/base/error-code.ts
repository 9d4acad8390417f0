/**
 * The code that the system, SQLite or Node puts on an error: `ENOENT`, `SQLITE_BUSY`, `ERR_…`.
 *
 * Promises text for whatever was thrown, and empty text where there is no code. Never throws.
 */

export function errorCode(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
