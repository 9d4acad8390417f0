/**
 * The command line: finds the command in the table, shows help, turns every ending into an exit code.
 *
 * Commander splits the words, suggests similar names and lays out the help; the table says what a command takes.
 * Promises exit codes 0 done, 1 failed, 64 wrong usage, 78 wrong config; results and requested help go to standard
 * output, everything else to standard error; help fits 80 columns. A fault of ours is exit 1 with its stack.
 */
import { Argument, Command as Parser, CommanderError, Option } from 'commander';

import { refusalOf } from '../control/protocol.ts';
import { COMMON_OPTIONS, Call, isGroup, synopsis } from './command.ts';
import type { Command, CommandTable, Group } from './command.ts';
import { COLUMNS, paragraph } from './layout.ts';
import type { Output } from './output.ts';
import { UsageError, written } from './parameter.ts';
import type { Parameter } from './parameter.ts';

/** EX_USAGE of sysexits.h. */
const EXIT_USAGE = 64;
const USAGE = 'Usage: ';

/** Runs `args` (without the program's name) and returns the exit code. */
export async function runProgram(
  table: CommandTable,
  args: readonly string[],
  output: Output,
): Promise<number> {
  let exitCode = 0;
  const [first, ...rest] = args;
  const words = first === '--version' || first === '-V' ? ['version', ...rest] : args;
  const root = rootOf(output);
  for (const [name, entry] of Object.entries(table)) {
    const parser = root.command(name).description(entry.summary);
    // The others only need their line in the list of commands: filling them all takes two milliseconds.
    if (!words.includes(name)) continue;
    // A mistyped action is reported before the options that would belong to it.
    if (isGroup(entry)) parser.allowUnknownOption(!isOption(words[words.indexOf(name) + 1]));
    addEntry(parser, entry, async (command, called) => {
      exitCode = await runCommand(command, called, output);
    });
  }
  // Likewise a mistyped command.
  root.allowUnknownOption(!isOption(first));
  try {
    await root.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof UsageError) {
      output.say(error.message);
      return EXIT_USAGE;
    }
    // Help has been shown: because it was asked for, or on standard error because the command is incomplete.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    throw error;
  }
}

const isOption = (word: string | undefined): boolean => word?.startsWith('-') === true;

type Run = (command: Command, parser: Parser) => Promise<void>;

function rootOf(output: Output): Parser {
  const root = new Parser('postrider')
    .description('Postrider, a self-hosted appliance for transactional email.')
    .usage('COMMAND')
    .configureOutput({
      writeOut: (text) => output.write(text),
      writeErr: (text) => output.note(text),
      outputError: () => undefined,
      getOutHelpWidth: () => COLUMNS,
      getErrHelpWidth: () => COLUMNS,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => (title === 'Global Options:' ? 'Options of every command:' : title),
      commandUsage: usageLine,
      subcommandTerm: (command) => command.name(),
      optionTerm: ({ flags }) => flags.replaceAll(/[<>]/g, ''),
    })
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [COMMAND]', 'Show the help of a command')
    .addHelpText('after', `\n${paragraph(FOOTER)}`);
  for (const parameter of COMMON_OPTIONS) root.addOption(optionOf(parameter));
  refuseBySentence(root);
  return root;
}

function addEntry(parser: Parser, entry: Command | Group, run: Run): void {
  if (!isGroup(entry)) {
    addCommand(parser, entry, run);
    return;
  }
  parser.summary(entry.summary).description(`${entry.summary}.`).usage('ACTION').helpCommand(false);
  refuseBySentence(parser);
  for (const [action, command] of Object.entries(entry.actions)) {
    addCommand(parser.command(action), command, run);
  }
}

const FOOTER =
  'Run postrider COMMAND --help for details. Exit codes: 0 done, 1 failed, 64 wrong usage, 78 wrong config.';

function addCommand(parser: Parser, command: Command, run: Run): void {
  const details = command.details === undefined ? '' : `\n\n${command.details}`;
  parser
    .summary(command.summary)
    .description(`${command.summary}.${details}`)
    .usage(usageOf(parser, command) || ' ')
    .allowExcessArguments()
    .action(() => run(command, parser));
  refuseBySentence(parser);
  for (const parameter of command.parameters ?? []) {
    if (parameter.kind === 'option') parser.addOption(optionOf(parameter));
    // Optional for Commander: the parameter itself reports that it is missing.
    else parser.addArgument(new Argument(`[${parameter.name}]`, parameter.about));
  }
}

function optionOf(parameter: Parameter<unknown>): Option {
  const flags = written(parameter).replace(/ (.*)$/, ' <$1>');
  const option = new Option(flags, parameter.about);
  if (!parameter.isRepeated) return option;
  return option.argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}

/** The words behind the command's name, wrapped between brackets, below `Usage: postrider …`. */
function usageOf(parser: Parser, command: Command): string {
  const bound = synopsis(command).replaceAll(/\[.{0,200}?\]|--\S{1,60} \S{1,60}/g, keepTogether);
  const indent = USAGE.length + `${nameOf(parser)} `.length;
  return paragraph(bound, indent).replaceAll('\u00a0', ' ');
}

const keepTogether = (text: string): string => text.replaceAll(' ', '\u00a0');

/** `postrider account create NAME [--plan P]`. */
const usageLine = (parser: Parser): string => `${nameOf(parser)} ${parser.usage()}`.trimEnd();

/** `postrider account create`. */
function nameOf(parser: Parser): string {
  return parser.parent === null ? parser.name() : `${nameOf(parser.parent)} ${parser.name()}`;
}

async function runCommand(command: Command, parser: Parser, output: Output): Promise<number> {
  try {
    return (await command.run(callOf(command, parser, output))) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) throw withUsage(error.message, parser);
    const refusal = refusalOf(error);
    if (refusal !== null) {
      output.say(refusal.message);
      if (refusal.hint !== '') output.say(refusal.hint);
      return refusal.exitCode;
    }
    output.say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  }
}

function callOf(command: Command, parser: Parser, output: Output): Call {
  const { parameters = [] } = command;
  const taken = parameters.filter(({ kind }) => kind === 'argument');
  const extra = parser.args[taken.length];
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}".`);
  const values = parser.optsWithGlobals();
  const given = new Map<Parameter<unknown>, unknown>();
  for (const parameter of [...parameters, ...COMMON_OPTIONS]) {
    if (parameter.kind === 'argument') given.set(parameter, parser.args[taken.indexOf(parameter)]);
    else given.set(parameter, values[optionOf(parameter).attributeName()]);
  }
  return new Call(given, output);
}

/** Commander's own refusals, in our words and with the usage of the command they are about. */
function refuseBySentence(parser: Parser): void {
  parser.exitOverride((error) => {
    if (error.code.startsWith('commander.help')) throw error;
    throw withUsage(sentenceOf(error), parser);
  });
}

function withUsage(message: string, parser: Parser): UsageError {
  return new UsageError(`${message}\n${USAGE}${usageLine(parser)}`);
}

/** Commander's messages as of the pinned version; test/commands/program.test.ts knows each. */
function sentenceOf({ code, message }: CommanderError): string {
  const unknown = /^error: unknown (\w+) '(.*?)'(?:\n\(Did you mean (.*)\?\))?$/s.exec(message);
  if (unknown !== null) {
    const [, what = '', name = '', similar] = unknown;
    const kind = name.startsWith('-') ? 'option' : what;
    return `Unknown ${kind} ${name}.${similar === undefined ? '' : ` Did you mean ${similar}?`}`;
  }
  const [, flags = ''] = /^error: option '(.*)' argument missing$/.exec(message) ?? [];
  if (code === 'commander.optionMissingArgument') {
    const [name = '', value = ''] = flags.split(' ');
    return `Missing value of ${name}: write ${name} ${value.replaceAll(/[<>]/g, '')}.`;
  }
  return message.replace(/^error: /, '');
}
