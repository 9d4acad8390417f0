/** What the scripts say when they are asked for help or given what they do not take. */
import { describe, expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const SCRIPTS = join(import.meta.dir, '../../scripts');
const NAMES = readdirSync(SCRIPTS).filter((name) => !name.includes('.'));
const BENCHMARKS = /^ {2}backup \| (.*)\) program=/m
  .exec(readFileSync(join(SCRIPTS, 'bench'), 'utf8'))?.[1]
  ?.split(' | ')
  .concat('backup');

interface Said {
  code: number;
  out: string;
  err: string;
}

function run(name: string, ...args: string[]): Said {
  const done = Bun.spawnSync([join(SCRIPTS, name), ...args], { timeout: 20_000 });
  return { code: done.exitCode, out: done.stdout.toString(), err: done.stderr.toString() };
}

describe('help', () => {
  test.each(NAMES)('scripts/%s prints its own comment, and does nothing', (name) => {
    const comment = readFileSync(join(SCRIPTS, name), 'utf8')
      .split('\n')
      .slice(1)
      .join('\n')
      .split(/\n(?!#)/, 1)[0]
      ?.replaceAll(/^# ?/gm, '');
    expect(comment).not.toBe('');
    for (const args of [['--help'], ['-h'], ['--once', '--help']]) {
      expect(run(name, ...args)).toEqual({ code: 0, out: `${String(comment)}\n`, err: '' });
    }
  });

  test.each(BENCHMARKS ?? [])('scripts/bench %s prints the comment of its program', (name) => {
    const program = readFileSync(join(SCRIPTS, `bench-${name}.ts`), 'utf8');
    const comment = /^\/\*\*\n(.*?)\n \*\//s.exec(program)?.[1]?.replaceAll(/^ \* ?/gm, '');
    expect(comment).toContain(`scripts/bench ${name}`);
    expect(run('bench', name, '--help')).toEqual({ code: 0, out: `${String(comment)}\n`, err: '' });
  });

  test('every benchmark is named in the help of all', () => {
    expect(BENCHMARKS?.length).toBeGreaterThan(6);
    const { out } = run('bench', '--help');
    expect(BENCHMARKS?.filter((name) => !out.includes(`\n  ${name} `))).toEqual([]);
  });
});

describe('wrong options', () => {
  const AFTER = '\n--help lists the options.\n';
  const CASES: readonly [string[], string][] = [
    [['bench', '--bogus'], "Unknown option '--bogus'"],
    [['bench', 'slices', '--pairs', '', 'a', 'b'], "--pairs takes a number, such as 4, not ''."],
    [['bench', 'stall', '--rows', 'many'], "--rows takes a number, such as 1000000, not 'many'."],
    [
      ['bench', '--only', 'nothing'],
      'There is no case nothing; there are accept, deliver, starttls, start, grow, read, search, webhooks, memory.',
    ],
    [['bench', '--runs', '0'], '--runs takes a whole number from 1.'],
    [['bench', 'compare', 'a'], 'Name two executables, A and B; --starttls is no, yes or b.'],
    [['bench', 'slices', 'a'], 'Name two executables or more.'],
    [['bench', 'read', 'many'], "The rows are a number, not 'many'."],
    [['soak', '--rate', '70/s'], "--rate takes a number, such as 70, not '70/s'."],
    [['soak', '--nodes', '3', '--minutes=-1'], "--minutes takes a number, such as 10, not '-1'."],
    [['try', '--twice'], "Unknown option '--twice'"],
    [['try', '--cluster', '--twice'], "Unknown option '--twice'"],
    [
      ['build', '--target', 'beos'],
      'There is no target beos; there are linux-x64, linux-x64-baseline, linux-arm64.',
    ],
  ];
  test.each(CASES)('scripts/%p', ([name = '', ...args], why) => {
    expect(run(name, ...args)).toEqual({ code: 64, out: '', err: `${why}${AFTER}` });
  });

  test('scripts/test names its suites where one is not there', () => {
    const { code, out } = run('test', 'nothing');
    expect(code).toBe(1);
    expect(out).toStartWith(
      'There is no suite nothing; there are format, lint, types, build, unit, ',
    );
    expect(out).toEndWith('\n0 passed, 0 failed\n');
  });
});
