/** The table in `docs/metrics.md` names every metric of the code with its type and labels, and nothing else. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

test('docs/metrics.md has every metric', () => {
  const code = readFileSync(join(ROOT, 'src/base/metrics.ts'), 'utf8').matchAll(
    /#(counter|gauge|histogram)\(\{\s*name: '([a-z_]+)',\s*help: '[^']*',(?:\s*labelNames: \[([^\]]*)\])?/g,
  );
  const table = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8').matchAll(
    /^\| `([a-z_]+)` \| ([a-z]+) \| ([a-z, –]+) \|/gm,
  );
  const declared = Array.from(code, ([, type, name, labels]) =>
    [name, type, labels?.replaceAll("'", '') ?? '–'].join(' | '),
  );
  expect(declared.length).toBeGreaterThan(15);
  expect(Array.from(table, ([, name, type, labels]) => [name, type, labels].join(' | '))).toEqual(
    declared,
  );
});
