/** Completion in real shells: in bash for every command of the table, in fish for some; zsh reads its script. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { COMMON_OPTIONS, isGroup } from '../../src/commands/command.ts';
import { bashScript, fishScript, zshScript } from '../../src/commands/completion-scripts.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import { describeWith } from '../rig/programs.ts';
import { SCRIPTS_FILE, scripts } from './completion-scripts.ts';

const home = mkdtempSync(join(tmpdir(), 'completion-'));
afterAll(() => rmSync(home, { recursive: true }));

async function shell(program: string[], script: string): Promise<string> {
  const child = Bun.spawn(program, {
    // fish writes its history below the home directory.
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdin: Buffer.from(script),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, err]).toEqual([0, '']);
  return out;
}

/** What TAB offers behind these words, of which the last is unfinished. */
async function offered(lines: readonly string[][]): Promise<string[][]> {
  const calls = lines.map(
    (words) => `COMP_WORDS=(postrider ${words.map((word) => `'${word}'`).join(' ')})
      COMP_CWORD=${words.length}
      _postrider
      echo "\${COMPREPLY[@]}"`,
  );
  const out = await shell(
    ['bash', '--norc', '-u', '-s'],
    `${bashScript(COMMANDS)}\ncomplete -p postrider >/dev/null\n${calls.join('\n')}\n`,
  );
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter(Boolean));
}

const COMMON = [...COMMON_OPTIONS.map(({ name }) => `--${name}`), '--help'];

describe('bash', () => {
  test('commands, actions and options of every command', async () => {
    const cases: [string[], string[]][] = [
      [[''], [...Object.keys(COMMANDS), '--help', '--config', '--json']],
    ];
    for (const [name, entry] of Object.entries(COMMANDS)) {
      const actions = isGroup(entry) ? Object.entries(entry.actions) : [];
      if (isGroup(entry)) cases.push([[name, ''], Object.keys(entry.actions)]);
      const commands = isGroup(entry)
        ? actions.map(([action, command]) => ({ path: [name, action], command }))
        : [{ path: [name], command: entry }];
      for (const { path, command } of commands) {
        const own = (command.parameters ?? []).filter(({ kind }) => kind === 'option');
        cases.push([
          [...path, '--'],
          [...own.map((one) => `--${one.name}`), ...COMMON],
        ]);
      }
    }
    const found = await offered(cases.map(([words]) => words));
    expect(found.map((words, index) => [cases[index]?.[0], words.toSorted()])).toEqual(
      cases.map(([words, wanted]) => [words, wanted.toSorted()]),
    );
  });

  test('beginnings of words, choices, files, and options in any order', async () => {
    const cases: [string[], string[]][] = [
      [['acc'], ['account']],
      [['account', 're'], ['resume']],
      [['--config', 'x.toml', 'account', 'cre'], ['create']],
      [['account', '--json', 'cre'], ['create']],
      [
        ['key', 'create', '--permission', ''],
        ['full_access', 'sending_access'],
      ],
      [['key', 'create', '--permission', 'f'], ['full_access']],
      [['key', 'create', '--name', ''], []],
      [['completion', 'z'], ['zsh']],
      [['backup', 'package.js'], ['package.json']],
      [['account', 'list', '--config', 'package.js'], ['package.json']],
      [['send', '--text-file', 'package.js'], ['package.json']],
      [['send', '--html-file', 'package.js'], ['package.json']],
      [['send', '--attachment', 'package.js'], ['package.json']],
      [['send', '--text', 'package.js'], []],
      [['frobnicate', ''], []],
    ];
    expect(await offered(cases.map(([words]) => words))).toEqual(cases.map(([, wanted]) => wanted));
  });
});

test('a value that is a file, or one of a few words, is offered as such for every command', () => {
  const offers = Object.entries(COMMANDS).flatMap(([name, entry]) =>
    (isGroup(entry)
      ? Object.entries(entry.actions).map(([action, one]) => [`${name} ${action}`, one] as const)
      : [[name, entry] as const]
    ).flatMap(([path, { parameters = [] }]) =>
      parameters
        .filter(({ completion }) => completion !== null)
        .map((one) => `${path} ${one.name}: ${String(one.completion)}`),
    ),
  );
  const statuses = 'queued,sent,delivered,delivery_delayed,bounced,complained,failed,suppressed';
  expect(offers).toEqual([
    'init data-dir: file',
    'init password-file: file',
    'init secret-key: file',
    'dev data: file',
    'key create permission: full_access,sending_access',
    'send text-file: file',
    'send html-file: file',
    'send attachment: file',
    `email list status: ${statuses}`,
    `tail status: ${statuses}`,
    'suppression add reason: hard_bounce,complaint,unsubscribe,manual',
    'suppression import FILE: file',
    'backup FILE: file',
    'restore FILE: file',
    'migrate password-file: file',
    'completion SHELL: bash,zsh,fish',
  ]);
  expect(COMMON_OPTIONS.map(({ name, completion }) => [name, completion])).toEqual([
    ['config', 'file'],
    ['json', null],
  ]);
});

describeWith(['zsh'], 'zsh', () => {
  test('reads its script', async () => {
    await shell(['zsh', '-n'], zshScript(COMMANDS));
  });
});

describeWith(['fish'], 'fish', () => {
  test('commands, actions, options, choices and files', async () => {
    const lines = [
      'acc',
      'account re',
      'key create --per',
      'key create --permission f',
      'backup package.js',
    ];
    const script = lines.map((line) => `complete -C 'postrider ${line}'`).join('\n');
    const out = await shell(['fish', '--no-config'], `${fishScript(COMMANDS)}\n${script}\n`);
    const offers = out.split('\n').map((line) => line.split('\t')[0]);
    expect(offers).toEqual([
      'account',
      'resume',
      '--permission',
      'full_access',
      'package.json',
      '',
    ]);
  });
});

test('the scripts of a table with every kind of parameter are those that were read last', () => {
  // When this fails and the change is meant: bun test/commands/completion-scripts.ts, and read the difference.
  expect(scripts()).toBe(readFileSync(SCRIPTS_FILE, 'utf8'));
});
