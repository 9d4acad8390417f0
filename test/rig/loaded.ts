/** What a program loads before anything is asked of it. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(import.meta.dir, '../../src');
const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** Files by their names below src/, packages by what they are imported as. */
interface Loaded {
  files: string[];
  packages: string[];
}

/** What is loaded with `file`, named from src/ on, and with what that loads: no types, and nothing that waits for `import()`. */
export function loadedWith(file: string): Loaded {
  const files = new Set([join(SRC, file)]);
  const packages = new Set<string>();
  // A set that grows while it is gone through: what is added comes at its end.
  for (const one of files) {
    for (const { kind, path } of transpiler.scanImports(readFileSync(one))) {
      if (kind !== 'import-statement') continue;
      if (!path.startsWith('.')) packages.add(path);
      else if (path.endsWith('.ts')) files.add(join(dirname(one), path));
    }
  }
  return {
    files: Array.from(files, (path) => relative(SRC, path)),
    packages: Array.from(packages),
  };
}
