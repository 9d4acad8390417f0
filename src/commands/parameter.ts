/**
 * The parameters of commands: arguments by their position and options by their name, each with its type and its help.
 *
 * A parameter is made once and read through `Call.get`, so that its value has its type without a cast. Promises that a
 * value that is missing, empty or not one of the choices is wrong usage, named as the operator writes it.
 */

/** Wrong usage; the message says what was wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Parameter<T> {
  kind: 'argument' | 'option';
  /** `NAME` for an argument, `account` for an option. */
  name: string;
  /** What an option's value is called in the help; null for a flag, and for an argument. */
  value: string | null;
  about: string;
  isRequired: boolean;
  /** An option that may be given several times: `read` gets the list of its values. */
  isRepeated: boolean;
  /** What a shell offers for the value: these words, or the names of files. */
  completion: readonly string[] | 'file' | null;
  /** The value of what was written; undefined when it was not given. Throws `UsageError`. */
  read(given: unknown): T;
}

/** The parameter as a usage line writes it, without brackets: `NAME`, `--account A`. */
export function written({ kind, name, value }: Parameter<unknown>): string {
  if (kind === 'argument') return name;
  return value === null ? `--${name}` : `--${name} ${value}`;
}

interface Traits {
  completion?: readonly string[] | 'file';
}

function textOrNull(given: unknown, what: string): string | null {
  if (typeof given !== 'string') return null;
  if (given === '') throw new UsageError(`${what} must not be empty.`);
  return given;
}

/** An argument that must be given. */
export function argument(name: string, about: string, traits: Traits = {}): Parameter<string> {
  return {
    kind: 'argument',
    name,
    value: null,
    about,
    isRequired: true,
    isRepeated: false,
    completion: traits.completion ?? null,
    read(given) {
      const text = textOrNull(given, name);
      if (text === null) throw new UsageError(`Missing argument ${name}.`);
      return text;
    },
  };
}

/** An argument that may be left out: null. */
export function optionalArgument(name: string, about: string): Parameter<string | null> {
  const read = (given: unknown): string | null => textOrNull(given, name);
  return { ...argument(name, about), isRequired: false, read };
}

/** An option with a value, null when it is not given. */
export function option(
  name: string,
  value: string,
  about: string,
  traits: Traits = {},
): Parameter<string | null> {
  return {
    kind: 'option',
    name,
    value,
    about,
    isRequired: false,
    isRepeated: false,
    completion: traits.completion ?? null,
    read: (given) => textOrNull(given, `--${name}`),
  };
}

/** An option that must be given. */
export function requiredOption(name: string, value: string, about: string): Parameter<string> {
  return {
    ...option(name, value, about),
    isRequired: true,
    read(given) {
      const text = textOrNull(given, `--${name}`);
      if (text === null) throw new UsageError(`Missing option --${name} ${value}.`);
      return text;
    },
  };
}

/** An option that may be given several times; an empty list when it is not. */
export function list(
  name: string,
  value: string,
  about: string,
  traits: Traits & { isRequired?: boolean } = {},
): Parameter<string[]> {
  const { isRequired = false } = traits;
  return {
    ...option(name, value, about, traits),
    isRequired,
    isRepeated: true,
    read(given) {
      const values: unknown[] = Array.isArray(given) ? given : [];
      if (isRequired && values.length === 0) {
        throw new UsageError(`Missing option --${name} ${value}.`);
      }
      return values.map((one) => textOrNull(one, `--${name}`) ?? '');
    },
  };
}

/** An option with a sentence for people; an empty one counts as none. */
export function sentence(name: string, value: string, about: string): Parameter<string | null> {
  const read = (given: unknown): string | null =>
    typeof given === 'string' && given !== '' ? given : null;
  return { ...option(name, value, about), read };
}

/** An option whose value is one of `choices`. */
export function choice<const T extends readonly string[]>(
  name: string,
  value: string,
  about: string,
  choices: T,
): Parameter<T[number] | null> {
  return {
    ...option(name, value, about, { completion: choices }),
    read(given) {
      const text = textOrNull(given, `--${name}`);
      if (text === null) return null;
      const found = choices.find((candidate) => candidate === text);
      if (found !== undefined) return found;
      throw new UsageError(`--${name} must be one of ${choices.join(', ')}, not "${text}".`);
    },
  };
}

/** An option without a value. */
export function flag(name: string, about: string): Parameter<boolean> {
  return {
    kind: 'option',
    name,
    value: null,
    about,
    isRequired: false,
    isRepeated: false,
    completion: null,
    read: (given) => given === true,
  };
}
