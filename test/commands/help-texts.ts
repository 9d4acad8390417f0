/**
 * What `--help` prints, of the program, of every command and of every action.
 *
 *   bun test/commands/help-texts.ts
 *
 * writes help.txt anew. The options of every command are told once in it, as `…`, where they look alike.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { isGroup } from '../../src/commands/command.ts';
import { COMMANDS } from '../../src/commands/list.ts';
import { runProgram } from '../../src/commands/program.ts';

export const HELP_FILE = join(import.meta.dir, 'help.txt');

const COMMON = `
Options of every command:
  --config FILE  Config file (default: $POSTRIDER_CONFIG, then
                 /etc/postrider/postrider.toml)
  --json         Print one JSON value to standard output
`;

/** What `args` print; lines of standard error behind `! `, and the exit code where it is not 0. */
async function printed(...args: string[]): Promise<string> {
  let [out, err] = ['', ''];
  const code = await runProgram(COMMANDS, args, {
    print: (text) => void (out += `${text}\n`),
    write: (text) => (out += text) !== '',
    say: (text) => void (err += `${text}\n`),
    note: (text) => void (err += text),
  });
  const text = `${err.replaceAll(/^(?=.)/gm, '! ')}${out}${code === 0 ? '' : `= ${code}\n`}`;
  return `$ ${['postrider', ...args].join(' ')}\n${text.replace(COMMON, '\n…\n')}`;
}

export async function helpTexts(): Promise<string> {
  const blocks = [await printed('--help'), await printed('account'), COMMON.trimStart()];
  for (const [name, entry] of Object.entries(COMMANDS)) {
    blocks.push(await printed(name, '--help'));
    for (const action of isGroup(entry) ? Object.keys(entry.actions) : []) {
      blocks.push(await printed(name, action, '--help'));
    }
  }
  return blocks.join('\n');
}

if (import.meta.main) writeFileSync(HELP_FILE, await helpTexts());
