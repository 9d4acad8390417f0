/**
 * Writes docs/commands.md, the reference of the command line, and the manual page from the table of commands.
 *
 * Promises that both say what the program takes: test/commands/command-reference.test.ts fails when a file differs. Run `bun scripts/command-reference.ts` after a change of a command.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { COMMON_OPTIONS, isGroup, synopsis } from '../src/commands/command.ts';
import type { Command } from '../src/commands/command.ts';
import { COMMANDS } from '../src/commands/list.ts';
import { flag, written } from '../src/commands/parameter.ts';
import type { Parameter } from '../src/commands/parameter.ts';
import { MAN_FILE, manPage } from './man-page.ts';

export const REFERENCE_FILE = join(import.meta.dir, '../docs/commands.md');

const HEAD = `# The command line

<!-- Written by \`bun scripts/command-reference.ts\` from src/commands: change a command's words there, not this file. -->

Each command works beside a running server, through \`control.sock\` in the data directory, and without one: then it locks
the data directory, does the same itself, and what it would have logged is written by the next server. Results go to
standard output, messages to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed; the message says why and what to do |
| 64 | wrong usage: an unknown command or option, a missing or wrong value |
| 78 | the config file is missing or has problems |
`;

/** The whole text. */
export function commandReference(): string {
  const sections = Object.entries(COMMANDS).flatMap(([name, entry]) =>
    isGroup(entry)
      ? [
          `## \`${name}\`\n\n${entry.summary}.\n`,
          ...Object.entries(entry.actions).map(([action, command]) =>
            section('###', `${name} ${action}`, command),
          ),
        ]
      : [section('##', name, entry)],
  );
  const common = `## Options of every command\n\n${rowsOf([...COMMON_OPTIONS, HELP])}`;
  return [HEAD, common, ...sections].join('\n');
}

const HELP = flag('help', 'Show help');

function section(mark: string, path: string, command: Command): string {
  const { summary, details, parameters = [] } = command;
  const usage = `postrider ${path} ${synopsis(command)}`.trimEnd();
  const words = details === undefined ? `${summary}.` : `${summary}. ${details}`;
  const rows = parameters.length === 0 ? '' : `\n${rowsOf(parameters)}`;
  return `${mark} \`${path}\`\n\n\`\`\`text\n${usage}\n\`\`\`\n\n${inMarkdown(words)}\n${rows}`;
}

function rowsOf(parameters: readonly Parameter<unknown>[]): string {
  const rows = parameters.map(
    (one) =>
      `| \`${written(one)}\` | ${inMarkdown(one.about)}${one.isRequired ? '; required' : ''} |`,
  );
  return `| parameter | meaning |\n|---|---|\n${rows.join('\n')}\n`;
}

/** Names in code style; nothing in it may end a cell or start a tag. */
function inMarkdown(text: string): string {
  return text
    .replaceAll(/\b[a-z]+(?:_[a-z]+)+\b|--[a-z][a-z-]*|\$POSTRIDER_CONFIG|~?\/[\w./]+/g, '`$&`')
    .replaceAll('<(', '&lt;(')
    .replaceAll('|', '\\|');
}

if (import.meta.main) {
  writeFileSync(REFERENCE_FILE, commandReference());
  writeFileSync(MAN_FILE, manPage());
}
