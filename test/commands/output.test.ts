/** Where texts go, on real descriptors: a process that prints to a pipe, to the end and to a reader that has gone. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import { join } from 'node:path';

import { terminal } from '../../src/commands/output.ts';

const MODULE = join(import.meta.dir, '../../src/commands/output.ts');
const PROGRAM = `
const { terminal } = await import(${JSON.stringify(MODULE)});
terminal.print('result');
const isRead = terminal.write('part');
terminal.say('line');
terminal.note(String(isRead));
`;

test('results go to standard output, everything else to standard error, at once', () => {
  const { stdout, stderr } = Bun.spawnSync([process.execPath, '-e', PROGRAM]);
  expect([stdout.toString(), stderr.toString()]).toEqual(['result\npart', 'line\ntrue']);
});

test('a reader that has closed its pipe is told of, and is no fault', () => {
  const script = 'exec 4> >(true); wait $!; "$0" -e "$1" >&4';
  const done = Bun.spawnSync(['bash', '-c', script, process.execPath, PROGRAM]);
  expect(done.stderr.toString()).toBe('line\nfalse');
});

afterEach(() => jest.restoreAllMocks());

const failure = (code: string): Error => Object.assign(new Error(code), { code });

test('a pipe that takes a text in parts, or is full for a while, gets the whole of it', () => {
  const written: [descriptor: number, text: string][] = [];
  let calls = 0;
  const take = (descriptor: number, bytes: Buffer, at: number): number => {
    calls += 1;
    if (calls === 2) throw failure('EAGAIN');
    written.push([descriptor, bytes.subarray(at, at + 4).toString('latin1')]);
    return Math.min(4, bytes.length - at);
  };
  spyOn(fs, 'writeSync').mockImplementation(take as never);
  const slept = spyOn(Bun, 'sleepSync').mockImplementation(() => undefined);
  expect(terminal.write('a long part')).toBe(true);
  terminal.say('one');
  expect(written).toEqual([
    [1, 'a lo'],
    [1, 'ng p'],
    [1, 'art'],
    [2, 'one\n'],
  ]);
  expect(slept.mock.calls).toEqual([[5]]);
});

test('what writing fails with otherwise is thrown', () => {
  const codes = ['ENOSPC', 'EPIPE'];
  spyOn(fs, 'writeSync').mockImplementation(() => {
    throw failure(codes.shift() ?? '');
  });
  expect(() => terminal.print('result')).toThrow('ENOSPC');
});
