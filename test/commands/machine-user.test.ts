/** Who runs a command, by `id` as the independent voice: also where the environment says nothing, or lies. */
import { expect, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { machineUser } from '../../src/commands/machine-user.ts';
import { describeWith } from '../rig/programs.ts';

const path = `${import.meta.dir}/../../src/commands/machine-user.ts`;

/** What a process with this environment alone says, after `before` was done. */
function said(env: Record<string, string>, before = ''): string {
  const program = `const { machineUser } = await import(${JSON.stringify(path)}); ${before}; console.log(machineUser())`;
  const run = Bun.spawnSync([process.execPath, '-e', program], { env });
  return run.stdout.toString().trim();
}

const known = Bun.spawnSync(['id', '-un']).stdout.toString().trim();

test('a command without USER, and one with a wrong one, is that of the user the machine knows', () => {
  expect(said({})).toBe(known);
  expect(said({ USER: 'mallory', LOGNAME: 'mallory' })).toBe(known);
});

test('where the list of users cannot be read the C library is asked', () => {
  const before = process.env['SUDO_USER'];
  delete process.env['SUDO_USER'];
  const read = spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw new Error('ENOENT');
  });
  expect(machineUser()).toBe(known);
  expect<unknown[][]>(read.mock.calls).toEqual([['/etc/passwd', 'utf8']]);
  read.mockRestore();
  if (before !== undefined) process.env['SUDO_USER'] = before;
});

test('behind sudo it is that of the user who called it, for root alone', () => {
  const isRoot = process.getuid?.() === 0;
  expect(said({ SUDO_USER: 'ann' })).toBe(isRoot ? 'ann' : known);
});

test('a user without a name is told by its number', () => {
  const isRoot = process.getuid?.() === 0;
  expect(said({ USER: 'ann' }, isRoot ? 'process.setuid(54321)' : '')).toBe(
    isRoot ? 'uid 54321' : known,
  );
});

describeWith(['root'], 'a process that root began', () => {
  const nameless = 'process.setuid(54321)';

  test('which is another user now does not take the word of SUDO_USER', () => {
    expect(said({ SUDO_USER: 'ann' }, nameless)).toBe('uid 54321');
  });

  test('is told by at most 100 characters of who called it', () => {
    expect(said({ SUDO_USER: 'x'.repeat(101) })).toBe('x'.repeat(100));
  });

  test('is told by its name also where its group has another number', () => {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    const rows = users.map((line) => line.split(':'));
    const other = rows.find(([, , id, group]) => id !== undefined && id !== group);
    const isSameId = ([, , id]: string[]): boolean => id === other?.[2];
    expect(said({ PATH: '/none' }, `process.setuid(${other?.[2]})`)).toBe(
      rows.find(isSameId)?.[0] ?? '',
    );
  });

  test('takes the name that the C library knows where the list of users has none', () => {
    const folder = mkdtempSync(join(tmpdir(), 'machine-user-'));
    chmodSync(folder, 0o755);
    const id = (script: string): string => {
      writeFileSync(join(folder, 'id'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return said({ PATH: folder }, nameless);
    };
    expect(id('[ "$*" = -un ] && echo directory-user')).toBe('directory-user');
    expect(id('echo half; exit 1')).toBe('uid 54321');
    expect(id('echo')).toBe('uid 54321');
    rmSync(folder, { recursive: true });
    expect(said({ PATH: folder }, nameless)).toBe('uid 54321');
  });
});
