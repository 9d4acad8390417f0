/**
 * The options of a script, and a line instead of a stack trace where they are wrong.
 */
import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';

const USAGE_ERROR = 64;
const NUMBER = /^\d+(\.\d+)?$/;

/**
 * Parses the script's arguments by `config`, as `parseArgs` of node:util does. An option whose default is a number takes a
 * number. Anything else is said on standard error, with where the options are listed, and ends the process with 64.
 */
export function scriptOptions<const T extends ParseArgsConfig>(
  config: T,
): ReturnType<typeof parseArgs<T>> {
  let parsed: ReturnType<typeof parseArgs<T>>;
  try {
    parsed = parseArgs(config);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  const values = parsed.values as Readonly<Record<string, unknown>>;
  for (const [name, option] of Object.entries(config.options ?? {})) {
    const [value, fallback] = [values[name], option.default];
    if (typeof fallback !== 'string' || !NUMBER.test(fallback)) continue;
    if (typeof value !== 'string' || !NUMBER.test(value)) {
      refuse(`--${name} takes a number, such as ${fallback}, not '${String(value)}'.`);
    }
  }
  return parsed;
}

/** Says what is wrong and where the options are listed, and ends the process with 64. */
export function refuse(why: string): never {
  process.stderr.write(`${why}\n--help lists the options.\n`);
  process.exit(USAGE_ERROR);
}
