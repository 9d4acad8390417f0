import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(import.meta.dir, '../../src');
const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** What a file imports from src/ when it is loaded: no types, and nothing that waits for `import()`. */
function loadedWith(file: string): string[] {
  return transpiler
    .scanImports(readFileSync(file))
    .filter(({ kind, path }) => kind === 'import-statement' && path.endsWith('.ts'))
    .map(({ path }) => join(dirname(file), path));
}

// Help, version and each refusal need none of it, and to load all of it takes longer than they do.
test('the program starts without the appliance, its listeners and its operations', () => {
  const files = [join(SRC, 'main.ts')];
  const loaded = new Set(files);
  for (const file of files) {
    const more = loadedWith(file).filter((path) => !loaded.has(path));
    for (const path of more) loaded.add(path);
    files.push(...more);
  }
  const names = files.map((file) => relative(SRC, file));
  expect(names).toContain('commands/operate.ts');
  expect(names).not.toContain('control/operations.ts');
  expect(names).not.toContain('health/doctor.ts');
  expect(
    names.filter((name) => /^(?:appliance|api\/routes|dashboard|flow\/queue)\//.test(name)),
  ).toEqual([]);
});
