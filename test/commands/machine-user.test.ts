/** Who runs a command, by `id` as the independent voice: also where the environment says nothing, or lies. */
import { expect, test } from 'bun:test';

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
