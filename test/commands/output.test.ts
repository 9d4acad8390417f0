/** Where texts go, on real descriptors: a process that prints to a pipe, to the end and to a reader that has gone. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

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
