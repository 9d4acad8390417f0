/**
 * Limits that hold everywhere, each with its source. Limits that an operator may move are in the config.
 */

/** Largest request body in bytes (docs/contract.md C17.4 and C17.5). */
export const BODY_BYTES_MAX = 14 * 1024 * 1024;

/**
 * Free space on the disk, in bytes, below which new sends are refused: 256 MiB, on a small disk 5 % of it
 * (docs/reliability.md R5).
 */
export function diskReserveBytes(totalBytes: number): number {
  return Math.min(256 * 1024 * 1024, totalBytes * 0.05);
}

/** The part of that which a file holds back for outcomes, in bytes: 16 MiB, on a small disk half of it. */
export function keptReserveBytes(totalBytes: number): number {
  return Math.floor(Math.min(16 * 1024 * 1024, diskReserveBytes(totalBytes) / 2));
}
