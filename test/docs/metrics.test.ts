/** The table in `docs/metrics.md` names every metric of the code with its type, labels and whose it is, and nothing else. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

test('docs/metrics.md has every metric', () => {
  // Only what is shared says so in its help, where who writes a query reads it.
  const code = readFileSync(join(ROOT, 'src/base/metrics.ts'), 'utf8').matchAll(
    /#(counter|gauge|histogram)\(\{\s*name: '([a-z_]+)',\s*help: '([^']*)',(?:\s*labelNames: \[([^\]]*)\])?/g,
  );
  const table = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8').matchAll(
    /^\| `([a-z_]+)` \| ([a-z]+) \| ([a-z, –]+) \| (node|service) \|/gm,
  );
  const declared = Array.from(code, ([, type, name, help, labels]) =>
    [
      name,
      type,
      labels?.replaceAll("'", '') ?? '–',
      help?.endsWith(' The same on every node.') ? 'service' : 'node',
    ].join(' | '),
  );
  expect(declared.length).toBeGreaterThan(15);
  expect(Array.from(table, (row) => row.slice(1).join(' | '))).toEqual(declared);
});
