/** What the process makes is its owner's alone, and it leaves no core file. */
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

test('files are for their owner alone, and neither limit of core files is above 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'private-'));
  const module = JSON.stringify(new URL('../../src/base/private-process.ts', import.meta.url).href);
  const script = `
    import { readFileSync, statSync, writeFileSync } from 'node:fs';
    import { keepProcessPrivate } from ${module};
    keepProcessPrivate();
    writeFileSync('made', '');
    const limit = /^Max core file size +(\\S+) +(\\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    console.log((statSync('made').mode & 0o777).toString(8), limit?.[1], limit?.[2]);
  `;
  const child = Bun.spawn([process.execPath, '-e', script], { cwd: folder, stdout: 'pipe' });
  const said = await child.stdout.text();
  rmSync(folder, { recursive: true });
  expect(said.trim()).toBe('600 0 0');
});
