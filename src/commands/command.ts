/**
 * What a command is: its words for the help, its parameters, and what it does with a call.
 *
 * Help, usage errors, completion and docs/commands.md all come from these objects. Promises that every parameter of a
 * call has been checked before the command runs.
 */
import type { Config } from '../base/config.ts';
import { loadConfig } from '../base/config-file.ts';
import type { Output } from './output.ts';
import { flag, option, written } from './parameter.ts';
import type { Parameter } from './parameter.ts';

export const DEFAULT_CONFIG_FILE = '/etc/postrider/postrider.toml';

const CONFIG_OPTION = option(
  'config',
  'FILE',
  `Config file (default: $POSTRIDER_CONFIG, then ${DEFAULT_CONFIG_FILE})`,
  { completion: 'file' },
);
const JSON_OPTION = flag('json', 'Print one JSON value to standard output');

/** What every command takes, beside `--help`. */
export const COMMON_OPTIONS: readonly Parameter<unknown>[] = [CONFIG_OPTION, JSON_OPTION];

export interface Command {
  /** What it does, in a few words: its line in a list of commands. */
  summary: string;
  /** Full sentences for its own help. */
  details?: string;
  /** In the order of the usage line. */
  parameters?: readonly Parameter<unknown>[];
  /** The exit code; 0 when it gives none. */
  run(call: Call): Promise<number | void>;
}

/** A command that has actions: `account create`, `account list`. */
export interface Group {
  summary: string;
  actions: Readonly<Record<string, Command>>;
}

/** Every command by its name. */
export type CommandTable = Readonly<Record<string, Command | Group>>;

export function isGroup(entry: Command | Group): entry is Group {
  return 'actions' in entry;
}

/** `NAME [--plan P]`: what follows a command's name in its usage line; empty without parameters. */
export function synopsis({ parameters = [] }: Command): string {
  return parameters
    .map(
      (one) =>
        (one.isRequired ? written(one) : `[${written(one)}]`) + (one.isRepeated ? '...' : ''),
    )
    .join(' ');
}

/** One call of a command. */
export class Call {
  readonly isJson: boolean;
  readonly output: Output;
  readonly #given: ReadonlyMap<Parameter<unknown>, unknown>;

  /** `given`: what was written, for each parameter of the command and each common one. Throws `UsageError`. */
  constructor(given: ReadonlyMap<Parameter<unknown>, unknown>, output: Output) {
    for (const [parameter, value] of given) parameter.read(value);
    this.#given = given;
    this.output = output;
    this.isJson = this.get(JSON_OPTION);
  }

  /** The value of one of the command's parameters. */
  get<T>(parameter: Parameter<T>): T {
    if (this.#given.has(parameter)) return parameter.read(this.#given.get(parameter));
    throw new Error(`the command does not list its parameter ${written(parameter)}`);
  }

  configFile(): string {
    return this.get(CONFIG_OPTION) ?? (process.env['POSTRIDER_CONFIG'] || DEFAULT_CONFIG_FILE);
  }

  /** Throws `OperatorError` with exit code 78. */
  config(): Config {
    return loadConfig(this.configFile());
  }

  /** `value` as one JSON value under --json, else `text` for people. */
  print(value: unknown, text: string): void {
    this.output.print(this.isJson ? JSON.stringify(value) : text);
  }
}
