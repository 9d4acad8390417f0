/**
 * The command line: picks a command, shows help, turns every ending into an exit code.
 *
 * Promises exit codes 0 done, 1 failed, 64 wrong usage, 78 wrong config; results on standard output, messages on
 * standard error. A fault of ours is exit 1 with its stack, never silence.
 */
import { ApiError, OperatorError } from './base/errors.ts';
import { keepProcessPrivate } from './base/private-process.ts';
import { Call, EXIT_USAGE, UsageError } from './commands/command.ts';
import type { Command, Group } from './commands/command.ts';
import { paragraph } from './commands/layout.ts';
import { COMMANDS } from './commands/list.ts';
import { terminal } from './commands/output.ts';

const COMMON = `Every command takes --config FILE (default: $POSTRIDER_CONFIG, then
/etc/postrider/postrider.toml), --json for one JSON value on standard output,
and --help.`;

/** Runs `args` (without the program's name) and gives the exit code. */
async function main(args: string[]): Promise<number> {
  const [name = '', ...rest] = args;
  if (name === '') {
    terminal.say(helpOfAll());
    return EXIT_USAGE;
  }
  if (name === 'help' || name === '--help' || name === '-h') {
    terminal.print(helpOfAll());
    return 0;
  }
  const command = name === '--version' ? 'version' : name;
  const group = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (group === undefined) return wrong(`there is no command "${name}"`, 'postrider --help');
  const [action = '', ...afterAction] = rest;
  const single = group[''];
  const help = `postrider ${name} --help`;
  if (rest.includes('--help') || rest.includes('-h')) {
    terminal.print(helpOf(name, group));
    return 0;
  }
  const chosen = single ?? (Object.hasOwn(group, action) ? group[action] : undefined);
  if (chosen === undefined) {
    const actions = Object.keys(group).join(', ');
    return wrong(`postrider ${name} needs one of: ${actions}`, help);
  }
  return await runCommand(chosen, single === undefined ? afterAction : rest, help);
}

async function runCommand(command: Command, args: string[], help: string): Promise<number> {
  try {
    return (await command.run(new Call(command, args, terminal))) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) return wrong(error.message, help);
    if (error instanceof OperatorError) {
      terminal.say(error.message);
      if (error.hint !== '') terminal.say(error.hint);
      return error.exitCode;
    }
    if (error instanceof ApiError) {
      terminal.say(error.message);
      return 1;
    }
    terminal.say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  }
}

function wrong(message: string, help: string): number {
  terminal.say(`${message}\nSee: ${help}`);
  return EXIT_USAGE;
}

function helpOfAll(): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, group]) => synopses(name, group));
  return `Postrider, a self-hosted appliance for transactional email.\n\n${lines.join('\n')}\n\n${COMMON}`;
}

function helpOf(name: string, group: Group): string {
  return `${synopses(name, group).join('\n')}\n\n${COMMON}`;
}

function synopses(name: string, group: Group): string[] {
  return Object.values(group).map(({ synopsis, does }) => {
    // What stands in brackets stays on one line.
    const bound = synopsis.replaceAll(/\[.*?\]/g, (flag) => flag.replaceAll(' ', '\u00a0'));
    const call = paragraph(`${name} ${bound}`.trimEnd(), 12).replaceAll('\u00a0', ' ');
    return `  postrider ${call}\n      ${paragraph(does, 6)}`;
  });
}

keepProcessPrivate();
// A worker of a store that failed to open must not keep the process.
process.exit(await main(process.argv.slice(2)));
