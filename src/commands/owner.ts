/**
 * Whether there is a data directory, and the rights of its owner, taken on when an operator runs a command as root.
 *
 * Promises that a command never leaves files behind which the service, as its own user, can not open, and that a slip in
 * `data_dir` never begins an empty appliance beside the real one.
 */
import { existsSync, statSync } from 'node:fs';

import type { Config } from '../base/config.ts';
import { EXIT_CONFIG } from '../base/config-file.ts';
import { OperatorError } from '../base/errors.ts';

/** Throws `OperatorError` with exit code 78 where there is none: only `init` and `restore` make it. */
export function requireDataDir({ dataDir }: Pick<Config, 'dataDir'>): void {
  if (existsSync(dataDir)) return;
  throw new OperatorError(
    `data_dir: the directory ${dataDir} does not exist`,
    'Make it with `postrider init`, or name the right one in the config file.',
    EXIT_CONFIG,
  );
}

/**
 * Does nothing for other users than root, for a directory of root's, and where there is none. Can not be undone in this
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
