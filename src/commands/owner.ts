/**
 * Takes on the rights of the data directory's owner when an operator runs a command as root.
 *
 * Promises that a command never leaves files behind which the service, as its own user, can not open. Does nothing for
 * other users, for a directory of root's, and where there is no directory yet.
 */
import { statSync } from 'node:fs';

/** Can not be undone in this process: call it when nothing of root's is needed any more. */
export function becomeOwner(dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  const directory = statSync(dataDir, { throwIfNoEntry: false });
  if (directory === undefined || directory.uid === 0) return;
  process.setgroups?.([]);
  process.setgid?.(directory.gid);
  process.setuid?.(directory.uid);
}
