/** What is removed of an `init` that a full disk has ended: what it made, and nothing that was there. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { rememberDirectory } from '../../src/commands/half-done.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'half-done-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const OWN = [
  'commands.log',
  'lock.db',
  'lock.db-journal',
  'log.db',
  'mail.db',
  'mail.db-shm',
  'mail.db-wal',
  'postrider.pid',
  'search.db',
  'secret.key',
  'secret.key.4711',
  'secret.key.next',
];

test('a directory that was not there goes with the ones above it that were made too', () => {
  mkdirSync(join(folder, 'a'));
  const undo = rememberDirectory(join(folder, 'a', 'b', 'c'));
  mkdirSync(join(folder, 'a', 'b', 'c'), { recursive: true });
  writeFileSync(join(folder, 'a', 'b', 'whatever'), '');
  undo();
  expect(readdirSync(folder, { recursive: true })).toEqual(['a']);
  undo();
  expect(readdirSync(folder)).toEqual(['a']);
});

test('of one that was there only new files of the appliance go', () => {
  writeFileSync(join(folder, 'log.db-wal'), '');
  writeFileSync(join(folder, 'notes'), '');
  const undo = rememberDirectory(folder);
  for (const name of OWN) writeFileSync(join(folder, name), '');
  for (const name of ['mail.db2', 'my-mail.db', 'xsecret.key', 'hints', 'postrider.toml']) {
    writeFileSync(join(folder, name), '');
  }
  undo();
  expect(readdirSync(folder).toSorted()).toEqual([
    'commands.log',
    'hints',
    'log.db-wal',
    'mail.db2',
    'my-mail.db',
    'notes',
    'postrider.toml',
    'xsecret.key',
  ]);
});
