/**
 * What a command is: its words for the help, the flags it knows, and what it does with a parsed call.
 *
 * Promises that wrong usage is told apart (exit 64, EX_USAGE of sysexits.h) before anything is read or written.
 */
import { parseArgs } from 'node:util';

import type { Config } from '../base/config.ts';
import { loadConfig } from '../base/config-file.ts';
import type { Output } from './output.ts';

/** EX_USAGE. */
export const EXIT_USAGE = 64;

export const DEFAULT_CONFIG_FILE = '/etc/postrider/postrider.toml';

/** Wrong usage; the message names what was wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Command {
  /** Words and flags behind the command's name, e.g. `create NAME [--plan P]`. */
  synopsis: string;
  /** One line of help. */
  does: string;
  /** Flags beside `--config`, `--json` and `--help`: `text` takes a value, `flag` none. */
  flags?: Record<string, 'text' | 'flag'>;
  /** Fewest and most words behind the command's name; none when absent. */
  words?: [min: number, max: number];
  /** The exit code; 0 when it gives none. */
  run(call: Call): Promise<number | void>;
}

/** Commands by their action (`create`, `list`); a command without actions has the empty one. */
export type Group = Record<string, Command>;

/** One call of a command, its words and flags checked against what the command knows. */
export class Call {
  readonly words: readonly string[];
  readonly isJson: boolean;
  readonly output: Output;
  readonly #flags: Readonly<Record<string, string | boolean | undefined>>;

  constructor(command: Command, args: string[], output: Output) {
    const { words, flags } = parse(command, args);
    const [min, max] = command.words ?? [0, 0];
    if (words.length < min) throw new UsageError('a word is missing');
    if (words.length > max) throw new UsageError(`${words[max] ?? ''} is one word too many`);
    this.words = words;
    this.#flags = flags;
    this.isJson = flags['json'] === true;
    this.output = output;
  }

  /** A word; `at` must be below the fewest the command takes. */
  word(at: number): string {
    return this.words[at] ?? '';
  }

  /** The value of a flag, or null. */
  flag(name: string): string | null {
    const value = this.#flags[name];
    return typeof value === 'string' ? value : null;
  }

  required(name: string): string {
    const value = this.flag(name);
    if (value === null || value === '') throw new UsageError(`--${name} is missing`);
    return value;
  }

  has(name: string): boolean {
    return this.#flags[name] === true;
  }

  configFile(): string {
    return this.flag('config') ?? (process.env['POSTRIDER_CONFIG'] || DEFAULT_CONFIG_FILE);
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

function parse(
  command: Command,
  args: string[],
): { words: string[]; flags: Record<string, string | boolean | undefined> } {
  const options: Record<string, { type: 'string' | 'boolean' }> = {
    config: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  };
  for (const [name, kind] of Object.entries(command.flags ?? {})) {
    options[name] = { type: kind === 'text' ? 'string' : 'boolean' };
  }
  try {
    const { positionals, values } = parseArgs({
      args,
      options,
      allowPositionals: true,
      strict: true,
    });
    return { words: positionals, flags: values };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.replace(/\. To specify.*$/s, ''));
  }
}
