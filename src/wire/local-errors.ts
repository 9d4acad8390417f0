/**
 * Tells this machine's own trouble from the other machine's, when a connection fails.
 *
 * Promises that running out of descriptors is never blamed on a destination, although the runtime reports it as
 * ECONNREFUSED (oven-sh/bun#36140; its test in test/regress says when the probe can go).
 */
import { closeSync, openSync } from 'node:fs';

const LOCAL_ERRORS: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  // No such source address, or no source port left.
  'EADDRNOTAVAIL',
  'EADDRINUSE',
  // A packet filter on this machine.
  'EACCES',
  'EPERM',
  'EAFNOSUPPORT',
  'EINVAL',
  'ERR_INVALID_IP_ADDRESS',
]);

/** Whether a socket error speaks of this machine. */
export function isLocalError(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'ECONNREFUSED') return !canOpenDescriptor();
  return error.code !== undefined && LOCAL_ERRORS.has(error.code);
}

function canOpenDescriptor(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return true;
  } catch {
    return false;
  }
}
