/** What a command that root runs keeps of root's rights once it works as the owner of the data: nothing. */
import { expect, test } from 'bun:test';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describeWith } from '../rig/programs.ts';

const OWNER = join(import.meta.dir, '../../src/commands/owner.ts');
const SERVICE = 64_001;
const GROUP = 64_002;

interface Rights {
  uid: number;
  gid: number;
  groups: number[];
}

/** In a process of its own, which root gave the group 64003 beside its own. */
async function rightsAfter(dataDir: string): Promise<Rights> {
  const program = `
    const { becomeOwner } = await import(${JSON.stringify(OWNER)});
    process.setgroups([0, 64003]);
    becomeOwner(${JSON.stringify(dataDir)});
    const [uid, gid, groups] = [process.getuid(), process.getgid(), process.getgroups()];
    console.log(JSON.stringify({ uid, gid, groups: groups.filter((one) => one !== gid) }));`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' });
  return (await new Response(child.stdout).json()) as Rights;
}

describeWith(['root'], 'root', () => {
  test('becomes the owner of the data directory, without a group of its own', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'owner-'));
    chownSync(dataDir, SERVICE, GROUP);
    expect(await rightsAfter(dataDir)).toEqual({ uid: SERVICE, gid: GROUP, groups: [] });
    rmSync(dataDir, { recursive: true });
  });

  test('stays root for a directory of root, and for one that does not exist', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'owner-'));
    const root = { uid: 0, gid: 0, groups: [64_003] };
    expect(await rightsAfter(dataDir)).toEqual(root);
    expect(await rightsAfter(join(dataDir, 'none'))).toEqual(root);
    rmSync(dataDir, { recursive: true });
  });
});
