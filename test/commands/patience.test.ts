/**
 * A command beside a process that holds the data directory without a socket: a server that starts or ends, or another
 * command. It asks again for five seconds.
 */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { COMMANDS } from '../../src/commands/list.ts';
import { runProgram } from '../../src/commands/program.ts';
import { lockDirectory, type DirectoryLock } from '../../src/store/directory-lock.ts';

let folder: string;
let holder: DirectoryLock;
/** How long each wait was; `onWait` is told before it ends. */
let waits: number[];
let onWait: () => void;
let undo: (() => void)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'patience-'));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const text = `hostname = "mail.example.com"\ndata_dir = ${JSON.stringify(dataDir)}\n`;
  writeFileSync(join(folder, 'postrider.toml'), text);
  holder = lockDirectory(dataDir);
  waits = [];
  onWait = () => undefined;
  let nowMs = Date.UTC(2026, 10, 21);
  const now = spyOn(Date, 'now').mockImplementation(() => nowMs);
  const sleep = spyOn(Bun, 'sleep').mockImplementation((ms) => {
    waits.push(Number(ms));
    nowMs += Number(ms);
    onWait();
    return Promise.resolve();
  });
  undo = [() => now.mockRestore(), () => sleep.mockRestore()];
});
afterEach(() => {
  for (const one of undo) one();
  rmSync(folder, { recursive: true });
});

async function list(): Promise<[code: number, out: string, err: string]> {
  const said = { out: '', err: '' };
  const code = await runProgram(
    COMMANDS,
    ['account', 'list', '--config', join(folder, 'postrider.toml')],
    {
      print: (text) => void (said.out += `${text}\n`),
      write: (text) => (said.out += text) !== '',
      say: (text) => void (said.err += `${text}\n`),
      note: (text) => void (said.err += text),
    },
  );
  return [code, said.out, said.err.replaceAll(folder, 'DIR')];
}

test('it asks ten times a second for five seconds, then says who holds the directory', async () => {
  const ended = await list();
  holder.release();
  expect(ended).toEqual([
    1,
    '',
    `another process (pid ${process.pid}) uses the data directory DIR/data\nStop the running server first, or give this one a data_dir of its own.\n`,
  ]);
  expect(waits).toEqual(Array.from({ length: 51 }, () => 100));
});

test('once the directory is free it does its work', async () => {
  onWait = () => {
    if (waits.length === 3) holder.release();
  };
  expect(await list()).toEqual([0, 'There are no accounts.\n', '']);
  expect(waits).toEqual([100, 100, 100]);
});

test('it does not ask again after any other refusal', async () => {
  holder.release();
  rmSync(join(folder, 'data'), { recursive: true });
  const [code, , err] = await list();
  expect([code, err.split('\n')[0]]).toEqual([
    78,
    'data_dir: the directory DIR/data does not exist.',
  ]);
  expect(waits).toEqual([]);
});
