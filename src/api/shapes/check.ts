/**
 * Checks values against shapes: reports every fault at once, each with its path and a sentence.
 *
 * Shapes are TypeBox schemas, the same from which the reference page is made. Promises that no message repeats the
 * refused value. `must` gives a shape its own words for a fault; inside a union the fault comes from the branch that
 * has the JSON type of the value.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler';
import { ValueErrorType, type ValueError } from '@sinclair/typebox/errors';
import { validationFailed, type ErrorName, type Issue } from '../../base/errors.ts';
import { joinPath, shown } from '../../base/json.ts';
import type { Reader } from './reader.ts';

const WORDS = Symbol('words');
/** Most issues in one response. */
export const MAX_ISSUES = 100;

/** `schema` with words for its fault, which follow the name of the field (`must be …`). */
export function must<T extends TSchema>(schema: T, words: string): T {
  return { ...schema, [WORDS]: words };
}

export interface Fault extends Issue {
  isMissing: boolean;
}

/** A schema that is compiled when first used, since most routes are rarely called. */
export class Shape<T extends TSchema> {
  readonly schema: T;
  #check: TypeCheck<T> | null = null;

  constructor(schema: T) {
    this.schema = schema;
  }

  /** What is wrong with `value`, at most `most`; empty when it fits. `at`: path of `value` in the body. */
  faults(value: unknown, at = '', most = MAX_ISSUES): Fault[] {
    this.#check ??= TypeCompiler.Compile(this.schema);
    if (this.#check.Check(value)) return [];
    const faults = new Map<string, Fault>();
    for (const error of flatten(this.#check.Errors(value))) {
      const path = pathIn(value, error.path, at);
      // TypeBox reports a missing field again as one of the wrong type: the first fault counts.
      if (!faults.has(path)) faults.set(path, faultOf(error, path));
      if (faults.size >= most) break;
    }
    return [...faults.values()];
  }

  /** `value` with its type. Throws ApiError `validation_failed` with every issue. */
  read(value: unknown): Static<T> {
    const faults = this.faults(value);
    if (faults.length > 0) throw refusalFor(faults);
    return value;
  }
}

/**
 * A reader of JSON bodies: null counts as absent, an empty body as `{}`. The schema says whether unknown fields are
 * refused (`additionalProperties`).
 */
export function bodyOf<T extends TSchema>(schema: T): Reader<Static<T>> {
  const shape = new Shape(schema);
  return { schema, read: (value) => shape.read(withoutNulls(value ?? {})) };
}

/** The object without its null fields: libraries write null for what was not set. */
export function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!Object.values(value).includes(null)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** Whether something is wrong with the value at `path`, or inside it. */
export function hasFault(faults: readonly Fault[], path: string): boolean {
  return faults.some((fault) => {
    const rest = fault.path.slice(path.length);
    return (
      fault.path.startsWith(path) && (rest === '' || rest.startsWith('.') || rest.startsWith('['))
    );
  });
}

/** The refusal for these faults, with the name that client libraries expect (docs/client-libraries.md L3). */
export function refusalFor(faults: readonly Fault[]): ReturnType<typeof validationFailed> {
  const missing = faults.filter(({ isMissing }) => isMissing);
  const first = missing[0] ?? faults[0];
  const ordered = first === undefined ? faults : [first, ...faults.filter((one) => one !== first)];
  return validationFailed(
    ordered.slice(0, MAX_ISSUES).map(({ path, message }) => ({ path, message })),
    { name: nameOf(first) },
  );
}

function nameOf(fault: Fault | undefined): ErrorName {
  if (fault === undefined) return 'validation_error';
  if (fault.isMissing) return 'missing_required_field';
  const field = fault.path.replace(/^\[\d+\]\.?/, '').split(/[.[]/, 1)[0];
  if (field === 'from') return 'invalid_from_address';
  return field === 'attachments' ? 'invalid_attachment' : 'validation_error';
}

function* flatten(errors: Iterable<ValueError>): Iterable<ValueError> {
  for (const error of errors) {
    const branch = error.type === ValueErrorType.Union ? branchFor(error) : null;
    if (branch === null) yield error;
    else yield* flatten(branch);
  }
}

/** The errors of the branch of a union that has the JSON type of the value; null when none has. */
function branchFor({ schema, value, errors }: ValueError): Iterable<ValueError> | null {
  const branches = (schema['anyOf'] ?? []) as TSchema[];
  if (value === null) return null;
  const type = Array.isArray(value) ? 'array' : typeof value;
  const at = branches.findIndex(
    (branch) => branch['type'] === type && branch['const'] === undefined,
  );
  return at === -1 ? null : (errors[at] ?? null);
}

function faultOf(error: ValueError, path: string): Fault {
  const name = path === '' ? 'The body' : path;
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    return { path, message: `Missing \`${path}\` field.`, isMissing: true };
  }
  return { path, message: `${name} ${wordsFor(error)}.`, isMissing: false };
}

function wordsFor({ type, schema }: ValueError): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'is not a field of this request';
  const words = (schema as { [WORDS]?: string })[WORDS];
  if (words !== undefined) return words;
  const special = LIMIT_WORDS[type]?.(schema);
  if (special !== undefined) return special;
  const jsonType = schema['type'];
  return typeof jsonType === 'string' ? `must be ${withArticle(jsonType)}` : 'is not valid';
}

/** Words for faults that are not about the type. */
const LIMIT_WORDS: Partial<Record<ValueErrorType, (schema: TSchema) => string>> = {
  [ValueErrorType.StringMinLength]: ({ minLength }) =>
    minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`,
  [ValueErrorType.StringMaxLength]: ({ maxLength }) => `must have at most ${maxLength} characters`,
  [ValueErrorType.ArrayMinItems]: () => 'must not be empty',
  [ValueErrorType.ArrayMaxItems]: ({ maxItems }) => `must have at most ${maxItems} items`,
  [ValueErrorType.ObjectMaxProperties]: ({ maxProperties }) =>
    `must have at most ${maxProperties} fields`,
  [ValueErrorType.Union]: (schema) => `must be ${unionWords(schema)}`,
};

function unionWords(schema: TSchema): string {
  const branches = (schema['anyOf'] ?? []) as TSchema[];
  const literals = branches.flatMap((branch) => (branch['const'] === undefined ? [] : [branch]));
  if (literals.length === branches.length) {
    return `one of ${literals.map((branch) => `"${branch['const']}"`).join(', ')}`;
  }
  return branches.map((branch) => withArticle(String(branch['type']))).join(' or ');
}

function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** A JSON pointer (RFC 6901) as the path in issues: `attachments[0].filename`. */
function pathIn(value: unknown, pointer: string, at: string): string {
  let path = at;
  let here: unknown = value;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path = Array.isArray(here) ? `${path}[${key}]` : joinPath(path, shown(key));
    here = typeof here === 'object' && here !== null ? Reflect.get(here, key) : undefined;
  }
  return path;
}
