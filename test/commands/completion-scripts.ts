/**
 * The completion scripts of a small table that has every kind of parameter.
 *
 *   bun test/commands/completion-scripts.ts
 *
 * writes completion-scripts.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Command, CommandTable } from '../../src/commands/command.ts';
import { bashScript, fishScript, zshScript } from '../../src/commands/completion-scripts.ts';
import {
  argument,
  choice,
  flag,
  list,
  option,
  optionalArgument,
} from '../../src/commands/parameter.ts';

export const SCRIPTS_FILE = join(import.meta.dir, 'completion-scripts.txt');

const command = (summary: string, parameters?: Command['parameters']): Command => ({
  summary,
  ...(parameters !== undefined && { parameters }),
  run: () => Promise.resolve(),
});

const TABLE: CommandTable = {
  group: {
    summary: "A group's summary",
    actions: {
      plain: command('An action'),
      file: command('An action [of] a file: here', [
        argument('FILE', 'A file', { completion: 'file' }),
        option('text', 'T', 'Some [text]: any'),
        list('many', 'M', 'Several', { completion: 'file' }),
      ]),
    },
  },
  single: command('A command', [
    argument('KIND', 'A kind', { completion: ['one', 'two'] }),
    choice('pick', 'P', 'One of them', ['red', 'blue']),
    option('from', 'FILE', 'A file', { completion: 'file' }),
    flag('yes', "Don't ask"),
  ]),
  other: command('Another command', [optionalArgument('ID', 'An id')]),
};

export function scripts(): string {
  return [bashScript(TABLE), zshScript(TABLE), fishScript(TABLE)].join('\n');
}

if (import.meta.main) writeFileSync(SCRIPTS_FILE, scripts());
