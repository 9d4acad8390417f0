/**
 * Undoes what `init` has begun when the disk turns out to be full.
 *
 * Promises to remove nothing that existed before, and in a directory that existed nothing but files with names of the
 * appliance. Throws what removing throws.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Everything that a data directory holds after `init`, with what SQLite puts beside it. */
const OWN_NAME = /^(?:(?:mail|log|search|lock)\.db|secret\.key|postrider\.pid)(?:$|[-.])/;

/** Call it before anything is made; the function it returns removes what was made since. */
export function rememberDirectory(directory: string): () => void {
  const missing = firstMissing(directory);
  const before = new Set(missing === null ? readdirSync(directory) : []);
  return () => {
    if (missing !== null) {
      rmSync(missing, { recursive: true, force: true });
      return;
    }
    for (const name of readdirSync(directory)) {
      if (!before.has(name) && OWN_NAME.test(name)) rmSync(join(directory, name), { force: true });
    }
  };
}

/** The highest directory on the way to `path` that does not exist; null when `path` does. */
function firstMissing(path: string): string | null {
  if (existsSync(path)) return null;
  return firstMissing(dirname(path)) ?? path;
}
