/**
 * Limits that hold everywhere, each with its source. Limits that an operator may move are in the config.
 */

/** Largest request body in bytes (interface, Limits: 14 MB; decisions: 14 × 1024 × 1024). */
export const BODY_BYTES_MAX = 14 * 1024 * 1024;

/** Room on the disk below which new sends are refused: 256 MiB, on a small disk 5 % of it (reliability goal 5). */
export function diskReserveBytes(totalBytes: number): number {
  return Math.min(256 * 1024 * 1024, totalBytes * 0.05);
}
