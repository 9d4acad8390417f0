/** What a command that root runs keeps of root's rights once it works as the owner of the data: nothing. */
import { expect, test } from 'bun:test';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { OperatorError } from '../../src/base/errors.ts';
import { requireDataDir } from '../../src/commands/owner.ts';
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
async function rightsAfter(dataDir: string, before = ''): Promise<Rights> {
  const program = `
    const { becomeOwner } = await import(${JSON.stringify(OWNER)});
    process.setgroups([0, 64003]);
    ${before}
    becomeOwner(${JSON.stringify(dataDir)});
    const [uid, gid, groups] = [process.getuid(), process.getgid(), process.getgroups()];
    console.log(JSON.stringify({ uid, gid, groups: groups.filter((one) => one !== gid) }));`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' });
  return (await new Response(child.stdout).json()) as Rights;
}

test('a data directory that does not exist is a matter of the config', () => {
  const error = refusal(() => requireDataDir('/nowhere/data'));
  expect([error.message, error.hint, error.exitCode]).toEqual([
    'data_dir: the directory /nowhere/data does not exist.',
    'Create it with `postrider init`, or correct data_dir in the config file.',
    78,
  ]);
  requireDataDir(tmpdir());
});

function refusal(work: () => void): OperatorError {
  try {
    work();
  } catch (error) {
    if (error instanceof OperatorError) return error;
  }
  throw new Error('it was not refused');
}

describeWith(['root'], 'root', () => {
  test('becomes the owner of the data directory, without a group of its own', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'owner-'));
    chownSync(dataDir, SERVICE, GROUP);
    expect(await rightsAfter(dataDir)).toEqual({ uid: SERVICE, gid: GROUP, groups: [] });
    rmSync(dataDir, { recursive: true });
  });

  test('another user than root stays who it is', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'owner-'));
    chownSync(dataDir, SERVICE, GROUP);
    const rights = await rightsAfter(dataDir, 'process.setuid(64005);');
    expect(rights).toEqual({ uid: 64_005, gid: 0, groups: [64_003] });
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
