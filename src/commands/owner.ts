/**
 * Whether there is a data directory, and the rights of its owner, taken on when an operator runs a command as root.
 *
 * Promises that a command never leaves files behind which the service, as its own user, cannot open, and that a typing error in
 * `data_dir` never starts an empty appliance beside the real one.
 */
import { existsSync, statSync } from 'node:fs';

import { EXIT_CONFIG, OperatorError } from '../base/errors.ts';

/** Throws `OperatorError` with exit code 78 where there is none: only `init` and `restore` make it. */
export function requireDataDir(dataDir: string): void {
  if (existsSync(dataDir)) return;
  throw new OperatorError(
    `data_dir: the directory ${dataDir} does not exist.`,
    'Create it with `postrider init`, or correct data_dir in the config file.',
    EXIT_CONFIG,
  );
}

/**
 * Does nothing for other users than root, for a directory of root's, and where there is none. Cannot be undone in this
 * process: call it when nothing of root's is needed any more.
 */
export function becomeOwner(dataDir: string): void {
  if (process.getuid?.() !== 0) return;
  const directory = statSync(dataDir, { throwIfNoEntry: false });
  if (directory === undefined || directory.uid === 0) return;
  process.setgroups?.([]);
  process.setgid?.(directory.gid);
  process.setuid?.(directory.uid);
}
