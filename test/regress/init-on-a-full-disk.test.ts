/**
 * `init` on a full disk once ended with the stack of a fault and left a directory that a second `init` refused.
 */
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describeWith } from '../rig/programs.ts';
import { makeSmallDisk } from '../rig/small-disk.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');

async function init(config: string, dataDir: string): Promise<{ code: number; said: string }> {
  const paths = ['--config', config, '--data-dir', dataDir];
  const child = Bun.spawn(
    [process.execPath, MAIN, 'init', '--hostname', 'mail.rig.test', ...paths],
    {
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  return { code, said };
}

function treeOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
}

describeWith(['mount', 'small disk'], 'init on a full disk', () => {
  // No free space for the config file; for the first pages only; for all but the last of them.
  for (const left of [0, 65_536, 160_000, 300_000]) {
    for (const isThere of [false, true]) {
      const state = isThere ? 'in directories that were there' : 'where nothing was';
      test(`with ${left} bytes left, ${state}: says so, and leaves what it found`, async () => {
        const disk = makeSmallDisk(4 * 1024 * 1024);
        try {
          const config = join(disk.path, 'etc/postrider/postrider.toml');
          const dataDir = join(disk.path, 'var/postrider');
          if (isThere) {
            mkdirSync(join(config, '..'), { recursive: true });
            mkdirSync(dataDir, { recursive: true });
            writeFileSync(join(dataDir, 'mine'), '');
          }
          const found = treeOf(disk.path);
          disk.fill(left);
          const { code, said } = await init(config, dataDir);
          disk.clear();
          expect({ code, said }).toEqual({
            code: 1,
            said: expect.stringMatching(/^Cannot write .*: the disk is full\.\nFree some space/),
          });
          expect(said).not.toContain('    at ');
          expect(treeOf(disk.path)).toEqual(found);
          expect(await init(config, dataDir)).toMatchObject({ code: 0 });
        } finally {
          disk.unmount();
        }
      }, 20_000);
    }
  }
});
