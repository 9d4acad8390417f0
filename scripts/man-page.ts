/**
 * Writes packaging/postrider.1, the manual page, from the table of commands: the words of `--help`.
 *
 * Promises plain man(7) macros, and that no text of ours is taken for a request or an escape of roff.
 * `bun scripts/command-reference.ts` writes it.
 */
import { join } from 'node:path';

import { COMMON_OPTIONS, isGroup } from '../src/commands/command.ts';
import type { Command } from '../src/commands/command.ts';
import { COMMANDS } from '../src/commands/list.ts';
import type { Parameter } from '../src/commands/parameter.ts';

export const MAN_FILE = join(import.meta.dir, '../packaging/postrider.1');

const EXIT_CODES = [
  ['0', 'Done.'],
  ['1', 'Failed; the message says why and what to do.'],
  ['64', 'Wrong usage: an unknown command or option, a missing or wrong value.'],
  ['78', 'The config file is missing or has problems.'],
] as const;

/** The whole text. */
export function manPage(): string {
  return [
    '.\\" Written by bun scripts/command-reference.ts from src/commands.',
    '.TH POSTRIDER 1 "" "Postrider" "User Commands"',
    '.SH NAME',
    'postrider \\- self-hosted appliance for transactional email',
    '.SH SYNOPSIS',
    '.B postrider',
    '.I COMMAND',
    '[\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    plain(
      'Each command works beside a running server, through its control socket in the data directory, and without one. Results go to standard output, messages to standard error.',
    ),
    '.SH OPTIONS OF EVERY COMMAND',
    ...COMMON_OPTIONS.flatMap(parameterLines),
    '.SH COMMANDS',
    ...Object.entries(COMMANDS).flatMap(([name, entry]) =>
      isGroup(entry)
        ? Object.entries(entry.actions).flatMap(([action, command]) =>
            commandLines(`${name} ${action}`, command),
          )
        : commandLines(name, entry),
    ),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, words]) => ['.TP', `.B ${code}`, plain(words)]),
    '.SH ENVIRONMENT',
    '.TP',
    '.B POSTRIDER_CONFIG',
    'The config file, where \\-\\-config is not given.',
    '.SH FILES',
    '.TP',
    '.I /etc/postrider/postrider.toml',
    'The config file.',
    '.TP',
    '.I /var/lib/postrider',
    'The data directory.',
    '',
  ].join('\n');
}

function commandLines(path: string, { summary, details, parameters = [] }: Command): string[] {
  const words = parameters.map((one) => {
    const more = one.isRepeated ? '...' : '';
    return (one.isRequired ? marked(one) : `[${marked(one)}]`) + more;
  });
  return [
    `.SS ${plain(path)}`,
    `.B postrider ${plain(path)}`,
    ...words,
    '.PP',
    plain(details === undefined ? `${summary}.` : `${summary}. ${details}`),
    ...parameters.flatMap(parameterLines),
  ];
}

function parameterLines(parameter: Parameter<unknown>): string[] {
  return ['.TP', marked(parameter), `${plain(parameter.about)}.`];
}

/** The name in bold, the value in italics. */
function marked({ kind, name, value }: Parameter<unknown>): string {
  if (kind === 'argument') return `\\fI${plain(name)}\\fR`;
  const option = `\\fB${plain(`--${name}`)}\\fR`;
  return value === null ? option : `${option} \\fI${plain(value)}\\fR`;
}

/** Text without meaning to roff: no escapes, hyphens that can be copied, no request at the beginning of a line. */
function plain(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}
