/**
 * Tells this machine's own trouble from the other machine's, when a connection fails.
 *
 * Promises that running out of descriptors is never blamed on a destination or an endpoint, although the runtime
 * reports it as ECONNREFUSED (oven-sh/bun#36140; its test in test/regress says when the probe can go). Ask at once
 * when the error comes: a moment later a descriptor may be free again. Never throws.
 */
import { closeSync, openSync } from 'node:fs';

/** This machine ran out of something. */
const SHORTAGES: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  // No such source address, or no source port left.
  'EADDRNOTAVAIL',
]);

const OTHER_LOCAL_ERRORS: ReadonlySet<string> = new Set([
  'EADDRINUSE',
  // A packet filter on this machine.
  'EACCES',
  'EPERM',
  'EAFNOSUPPORT',
  'EINVAL',
  'ERR_INVALID_IP_ADDRESS',
]);

/** Whether a socket error says that this machine has no descriptor, memory or source port left. */
export function isShortage(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'ECONNREFUSED') return isOutOfDescriptors();
  return error.code !== undefined && SHORTAGES.has(error.code);
}

/** Whether a socket error is about this machine: a shortage, or an address or rule of its own. */
export function isLocalError(error: NodeJS.ErrnoException): boolean {
  return isShortage(error) || (error.code !== undefined && OTHER_LOCAL_ERRORS.has(error.code));
}

/** Whether this process can open nothing more at this moment. */
export function isOutOfDescriptors(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return false;
  } catch {
    return true;
  }
}
