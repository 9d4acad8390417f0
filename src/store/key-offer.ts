/**
 * Offers a key to a data directory whose own is missing, foreign or damaged.
 *
 * The offered key is staged; whoever opens the directory next takes it if its secrets open with it, and refuses
 * otherwise. Promises that the key file from before is kept as `secret.key.set-aside` where it was replaced, and that
 * nothing has changed after `undo`, or where the key could not be staged. Throws `OperatorError` while a server is running.
 */
import { existsSync, linkSync, rmSync, statSync } from 'node:fs';

import { lockDirectory } from './directory-lock.ts';
import { dropStagedKey, keyPath, stageKey } from './key-file.ts';

export interface OfferedKey {
  /** Call it when the directory has been opened: path of the key file that was replaced, null when none was. */
  setAside(): string | null;
  /** The directory refused the key: it is as before. */
  undo(): void;
}

export function offerKey(dataDir: string, key: Uint8Array): OfferedKey {
  const file = keyPath(dataDir);
  const aside = `${file}.set-aside`;
  const undo = (): void => {
    dropStagedKey(dataDir);
    rmSync(aside, { force: true });
  };
  const lock = lockDirectory(dataDir);
  try {
    rmSync(aside, { force: true });
    if (existsSync(file)) linkSync(file, aside);
    stageKey(dataDir, key);
  } catch (error) {
    undo();
    throw error;
  } finally {
    lock.release();
  }
  return {
    setAside() {
      if (!existsSync(aside)) return null;
      if (statSync(aside).ino !== statSync(file).ino) return aside;
      rmSync(aside);
      return null;
    },
    undo,
  };
}
