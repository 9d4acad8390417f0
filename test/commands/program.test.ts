/**
 * The command line in words: wrong usage says what is wrong and how it is written, help is there for every command and
 * fits 80 columns. Nothing here reads a config file or a data directory.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { isGroup } from '../../src/commands/command.ts';
import type { Command } from '../../src/commands/command.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import type { Output } from '../../src/commands/output.ts';
import { argument, flag, option, sentence } from '../../src/commands/parameter.ts';
import { runProgram } from '../../src/commands/program.ts';
import { HELP_FILE, helpTexts } from './help-texts.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

async function run(args: readonly string[], table = COMMANDS): Promise<Said> {
  const said = { out: '', err: '' };
  const output: Output = {
    print: (text) => void (said.out += `${text}\n`),
    write: (text) => (said.out += text) !== '',
    say: (text) => void (said.err += `${text}\n`),
    note: (text) => void (said.err += text),
  };
  const code = await runProgram(table, args, output);
  return { code, ...said };
}

const paths = Object.entries(COMMANDS).flatMap(([name, entry]) =>
  isGroup(entry)
    ? [[name], ...Object.keys(entry.actions).map((action) => [name, action])]
    : [[name]],
);

describe('wrong usage', () => {
  const KEY_USAGE = 'Usage: postrider key create --name N [--account A] [--permission P] [--test]';

  test.each([
    ['acount list --account x', 'Unknown command acount. Did you mean account?', 'COMMAND'],
    ['frobnicate', 'Unknown command frobnicate.', 'COMMAND'],
    ['--colour', 'Unknown option --colour.', 'COMMAND'],
    ['account --colour create x', 'Unknown option --colour.', 'account ACTION'],
    ['account craete x', 'Unknown command craete. Did you mean create?', 'account ACTION'],
    ['account craete --plan p', 'Unknown command craete. Did you mean create?', 'account ACTION'],
    ['frob\nnicate', 'Unknown command frob\nnicate.', 'COMMAND'],
    ['account create', 'Missing argument NAME.', 'account create NAME [--plan P]'],
    ['account create a b', 'Unexpected argument "b".', 'account create NAME [--plan P]'],
    [
      'account create x --paln y',
      'Unknown option --paln. Did you mean --plan?',
      'account create NAME [--plan P]',
    ],
    ['check --jsn', 'Unknown option --jsn. Did you mean --json?', 'check'],
    ['init', 'Missing option --hostname H.', 'init --hostname H [--data-dir D]'],
    ['init --hostname ', '--hostname must not be empty.', 'init --hostname H [--data-dir D]'],
    ['account create ', 'NAME must not be empty.', 'account create NAME [--plan P]'],
    ['queue retry ', 'ID must not be empty.', 'queue retry [ID] [--domain D]'],
    ['send --from a --subject s', 'Missing option --to A.', 'send --from F --to A...'],
    ['send --from a --subject s --to ', '--to must not be empty.', 'send --from F --to A...'],
    ['send --from a --to b --subject s --cc ', '--cc must not be empty.', 'send --from F'],
    [
      'queue list --domain',
      'Missing value of --domain: write --domain D.',
      'queue list [--domain D]',
    ],
    ['webhook replay x', 'Use one of --event E and --since T.', 'webhook replay ID [--event E]'],
    [
      'queue retry x --domain y',
      'Use either ID or --domain D, not both.',
      'queue retry [ID] [--domain D]',
    ],
    ['completion tcsh', 'SHELL must be one of bash, zsh, fish, not "tcsh".', 'completion SHELL'],
  ])('%s', async (line, message, usage) => {
    const said = await run(line.split(' '));
    expect(said.err).toStartWith(`${message}\nUsage: postrider ${usage}`);
    expect([said.code, said.out]).toEqual([64, '']);
  });

  test('a choice, and an empty value', async () => {
    const all = await run(['key', 'create', '--name', 'x', '--permission', 'all']);
    const choices = 'full_access, sending_access';
    expect(all.err).toBe(`--permission must be one of ${choices}, not "all".\n${KEY_USAGE}\n`);
    const empty = await run(['queue', 'retry', '--domain', '']);
    expect(empty.err).toStartWith('--domain must not be empty.\n');
    expect([all.code, empty.code]).toEqual([64, 64]);
  });

  test.each([[[]], [['account']], [['queue']]])(
    'without a command: help, as an error: %j',
    async (args) => {
      const said = await run(args);
      expect([said.code, said.out]).toEqual([64, '']);
      expect(said.err).toStartWith(`Usage: ${['postrider', ...args].join(' ')} `);
      expect(said.err).toContain('\nCommands:\n');
    },
  );
});

describe('help', () => {
  test.each(paths.map((path) => [path.join(' ')]))('%s --help', async (line) => {
    const path = line.split(' ');
    for (const args of [
      [...path, '--help'],
      [...path, '-h'],
    ]) {
      const said = await run(args);
      expect([said.code, said.err]).toEqual([0, '']);
      expect(said.out.split('\n').filter((text) => text.length > 80 || /\s$/.test(text))).toEqual(
        [],
      );
    }
    const { out } = await run([...path, '--help']);
    expect(out).toStartWith(`Usage: postrider ${line}`);
    for (const name of ['--config FILE', '--json', '--help']) expect(out).toContain(name);
  });

  test('of everything names every command', async () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      const { code, out } = await run(args);
      expect(code).toBe(0);
      const named = Array.from(out.matchAll(/^ {2}([a-z]+) {2,}\S/gm), ([, name]) => name);
      expect(named).toEqual([...Object.keys(COMMANDS), 'help']);
      expect(out).toContain('Exit codes: 0 done');
    }
  });
});

test('help.txt has every text of the help as it is printed', async () => {
  // When this fails and the change is meant: bun test/commands/help-texts.ts, and read the difference.
  expect(await helpTexts()).toBe(readFileSync(HELP_FILE, 'utf8'));
});

describe('what a command gets', () => {
  const NAME = argument('NAME', 'A name');
  const PLAN = option('plan', 'P', 'A plan');
  const NOTE = sentence('the-note', 'N', 'A note');
  const TEST = flag('test', 'A flag');
  const got: unknown[] = [];
  const create: Command = {
    summary: 'Create',
    parameters: [NAME, PLAN, NOTE, TEST],
    run(call) {
      got.push(
        call.get(NAME),
        call.get(PLAN),
        call.get(NOTE),
        call.get(TEST),
        call.isJson,
        call.configFile(),
      );
      return Promise.resolve(7);
    },
  };
  const table = { thing: { summary: 'Things', actions: { create } } };

  test.each([
    ['thing create a --config f', ['a', null, null, false, false, 'f']],
    ['--config f --json thing create a --test', ['a', null, null, true, true, 'f']],
    ['thing create --plan=b --json a --config=f', ['a', 'b', null, false, true, 'f']],
    ['thing create --the-note c --config f -- --plan', ['--plan', null, 'c', false, false, 'f']],
  ])('%s', async (line, values) => {
    got.length = 0;
    expect(await run(line.split(' '), table)).toEqual({ code: 7, out: '', err: '' });
    expect(got).toEqual(values);
  });

  test('is checked before it runs, also what it does not ask for', async () => {
    let runs = 0;
    const careless: Command = {
      summary: 'Careless',
      parameters: [PLAN],
      run: () => Promise.resolve(void (runs += 1)),
    };
    const said = await run(['careless', '--plan', ''], { careless });
    expect([said.code, runs]).toEqual([64, 0]);
    expect(said.err).toStartWith('--plan must not be empty.\n');
  });

  test('without --config the file of the environment, and without that the usual one', async () => {
    const before = process.env['POSTRIDER_CONFIG'];
    try {
      for (const [file, expected] of [
        ['', '/etc/postrider/postrider.toml'],
        ['from-env', 'from-env'],
      ] as const) {
        process.env['POSTRIDER_CONFIG'] = file;
        got.length = 0;
        await run(['thing', 'create', 'a'], table);
        expect(got[5]).toBe(expected);
      }
    } finally {
      if (before === undefined) delete process.env['POSTRIDER_CONFIG'];
      else process.env['POSTRIDER_CONFIG'] = before;
    }
  });

  test('an empty sentence counts as none', async () => {
    got.length = 0;
    await run(['thing', 'create', 'a', '--the-note', ''], table);
    expect(got.slice(0, 3)).toEqual(['a', null, null]);
  });

  test('a parameter that the command does not list is our own mistake', async () => {
    const forgetful = { ...create, parameters: [NAME] };
    const said = await run(['forgetful', 'a'], { forgetful });
    expect(said.code).toBe(1);
    expect(said.err).toContain('does not list its parameter --plan P');
  });
});
