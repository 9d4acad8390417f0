/** The program as a process: its words are those behind its name, its code is the command's, its files its owner's. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = join(import.meta.dir, '../../src/main.ts');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'main-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Under a umask that lets everybody read. */
function run(...words: string[]): { code: number; out: string; err: string } {
  const script = 'umask 022; exec "$@"';
  const child = Bun.spawnSync(['sh', '-c', script, 'sh', process.execPath, MAIN, ...words]);
  return { code: child.exitCode, out: child.stdout.toString(), err: child.stderr.toString() };
}

test('whatever it makes is for its owner alone', () => {
  const [config, data] = [join(folder, 'postrider.toml'), join(folder, 'data')];
  const words = ['--hostname', 'mail.shop.example', '--data-dir', data, '--config', config];
  const { code, err } = run('init', ...words);
  expect([code, err]).toEqual([0, '']);
  const files = [config, ...readdirSync(data).map((name) => join(data, name))];
  expect(files).toContain(join(data, 'mail.db'));
  const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0);
  expect(open).toEqual([]);
}, 60_000);

test('it ends with the code of its command', () => {
  const config = join(folder, 'none.toml');
  const { code, out, err } = run('check', '--config', config);
  expect([code, out, err.split('\n')[0]]).toEqual([
    78,
    '',
    `cannot read the config file ${config}: ENOENT: no such file or directory, open '${config}'`,
  ]);
  const help = run();
  expect([help.code, help.out]).toEqual([64, '']);
  expect(help.err).toStartWith('Usage: postrider COMMAND\n');
}, 60_000);
