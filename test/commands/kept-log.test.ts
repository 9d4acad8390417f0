/** Log lines of commands without a server: on disk at once, passed on at least once, nobody else's to read. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keepLines, passOnLines } from '../../src/commands/kept-log.ts';

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kept-log-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** What a server that starts now writes. */
function passedOn(): string {
  let text = '';
  passOnLines(dataDir, (piece) => (text += piece));
  return text;
}

test('lines of several commands are passed on in their order, once', () => {
  keepLines(dataDir, ['{"event":"a"}', '{"event":"b"}']);
  keepLines(dataDir, []);
  keepLines(dataDir, ['{"event":"c"}']);
  expect(passedOn()).toBe('{"event":"a"}\n{"event":"b"}\n{"event":"c"}\n');
  expect(passedOn()).toBe('');
});

test('a command that logs nothing leaves no file, and the file is private whatever the umask', () => {
  keepLines(dataDir, []);
  expect(existsSync(join(dataDir, 'commands.log'))).toBe(false);
  const before = process.umask(0);
  keepLines(dataDir, ['{}']);
  process.umask(before);
  expect(statSync(join(dataDir, 'commands.log')).mode & 0o777).toBe(0o600);
});

test('lines are on the disk before their file is closed, and it is closed when they are not', () => {
  const seen: string[] = [];
  const { fsyncSync, closeSync } = fs;
  let isFull = false;
  spyOn(fs, 'fsyncSync').mockImplementation((file) => {
    seen.push('on disk');
    if (isFull) throw new Error('ENOSPC');
    fsyncSync(file);
  });
  spyOn(fs, 'closeSync').mockImplementation((file) => {
    seen.push('closed');
    closeSync(file);
  });
  keepLines(dataDir, ['{}']);
  expect(seen.splice(0)).toEqual(['on disk', 'closed']);
  isFull = true;
  expect(() => keepLines(dataDir, ['{}'])).toThrow('ENOSPC');
  expect(seen).toEqual(['on disk', 'closed']);
  jest.restoreAllMocks();
});

test('a server that ends while it writes leaves the lines to the next one', () => {
  keepLines(dataDir, ['{"event":"a"}']);
  const fail = (): never => {
    throw new Error('ended');
  };
  expect(() => passOnLines(dataDir, fail)).toThrow('ended');
  expect(passedOn()).toBe('{"event":"a"}\n');
});

test('a data directory that cannot be written throws: the caller shows the lines instead', () => {
  expect(() => keepLines(join(dataDir, 'missing'), ['{}'])).toThrow('ENOENT');
});
