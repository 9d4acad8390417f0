/**
 * Statements put together from parts: rows of a whole batch as arrays, several writes as one statement.
 *
 * Promises that values travel as parameters only. A part numbers its parameters from $1; `together` numbers them anew.
 * The parts of one statement see the same state and not each other's rows, so that no two of them may change one row.
 */
import { parameter } from './values.ts';
import type { Parameter, Value } from './values.ts';

/** Of a walk over a table with all mail in it. */
const LASTING_MS = 600_000;

/** PostgreSQL types of columns, as they are written in a cast. */
export type ColumnType = 'uuid' | 'text' | 'int4' | 'int8' | 'bool' | 'bytea';

/** A table's columns by the names of their fields. */
export interface Table<F extends string> {
  name: string;
  columns: Readonly<Record<F, ColumnType>>;
}

/** One row, or what is written of it; further fields are not looked at. */
export type RowOf<T> = T extends Table<infer F> ? Readonly<Record<F, Value>> : never;

/** A statement, or a part of one. */
export interface Part {
  text: string;
  params: readonly Parameter[];
  /** Milliseconds after which an answer counts as lost; absent: as long as any statement of a request may take. */
  answerMs?: number;
}

/** The statement with a time of its own: it walks over much, and nobody waits for it. */
export function lasting(statement: Part, answerMs: number = LASTING_MS): Part {
  return { ...statement, answerMs };
}

/** `fields` by the table's columns: a column has its field's name in snake_case. */
export function table<F extends string>(name: string, columns: Record<F, ColumnType>): Table<F> {
  return { name, columns };
}

/** The column of a field. */
export function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `SELECT` of all columns, named as their fields. */
export function selectFrom<F extends string>(of: Table<F>): string {
  return `SELECT ${fieldsOf(of, of.name)} FROM ${of.name}`;
}

/** The list of all columns, named as their fields. */
export function fieldsOf<F extends string>(of: Table<F>, alias: string): string {
  return Object.keys(of.columns)
    .map((field) => `${alias}.${columnOf(field)} AS "${field}"`)
    .join(', ');
}

/** The rows as a table of their own, called `v`, with the columns of `of`. */
export function valuesOf<F extends string>(
  of: Table<F>,
  rows: readonly Readonly<Record<F, Value>>[],
): Part {
  const fields = Object.keys(of.columns) as F[];
  const inArrays = fields.filter((field) => of.columns[field] !== 'bytea');
  const ofBytes = fields.filter((field) => of.columns[field] === 'bytea');
  const arrays = inArrays.map((field, at) => `$${at + 1}::${of.columns[field]}[]`);
  const columns = inArrays.map(columnOf);
  const params: Parameter[] = inArrays.map((field) => rows.map((row) => parameter(row[field])));
  if (ofBytes.length === 0) {
    return { text: `unnest(${arrays.join(', ')}) AS v (${columns.join(', ')})`, params };
  }
  // An array travels as text, which the server reads letter by letter: all bytes go as one value, and rows cut theirs out.
  const { bytes, positions } = joined(ofBytes.map((field) => rows.map((row) => row[field])));
  const from = inArrays.length;
  const cut = ofBytes.map((field, at) => {
    const column = columnOf(field);
    arrays.push(`$${from + 2 * at + 1}::int4[]`, `$${from + 2 * at + 2}::int4[]`);
    return `substring($${from + 2 * ofBytes.length + 1}::bytea FROM ${column}_at FOR ${column}_length) AS ${column}`;
  });
  params.push(...positions, bytes);
  const cutColumns = ofBytes.map(columnOf).flatMap((name) => [`${name}_at`, `${name}_length`]);
  const all = `unnest(${arrays.join(', ')}) AS u (${[...columns, ...cutColumns].join(', ')})`;
  return { text: `(SELECT ${[...columns, ...cut].join(', ')} FROM ${all}) AS v`, params };
}

/** All bytes of some columns one after the other; `positions`: for each column where each row's begin, from 1, and how many. */
function joined(columns: readonly (readonly Value[])[]): {
  bytes: Uint8Array;
  positions: (number | null)[][];
} {
  const pieces: Uint8Array[] = [];
  let end = 1;
  const positions = columns.flatMap((values) => {
    const begins: (number | null)[] = [];
    const lengths: (number | null)[] = [];
    for (const value of values) {
      const piece = value instanceof Uint8Array ? value : null;
      begins.push(piece === null ? null : end);
      lengths.push(piece === null ? null : piece.byteLength);
      if (piece === null) continue;
      pieces.push(piece);
      end += piece.byteLength;
    }
    return [begins, lengths];
  });
  return { bytes: Buffer.concat(pieces), positions };
}

/** Adds the rows; `conflict`: what follows the values, such as `ON CONFLICT DO NOTHING`. */
export function insertInto<F extends string>(
  of: Table<F>,
  rows: readonly Readonly<Record<F, Value>>[],
  conflict = '',
): Part {
  const columns = Object.keys(of.columns).map(columnOf).join(', ');
  const values = valuesOf(of, rows);
  return {
    text: `INSERT INTO ${of.name} (${columns}) SELECT ${columns} FROM ${values.text} ${conflict}`,
    params: values.params,
  };
}

/** Adds one row, each value as it is: large bytes travel so many times faster than in an array. */
export function insertOne<F extends string>(of: Table<F>, row: Readonly<Record<F, Value>>): Part {
  const fields = Object.keys(of.columns) as F[];
  const values = fields.map((field, at) => `$${at + 1}::${of.columns[field]}`);
  return {
    text: `INSERT INTO ${of.name} (${fields.map(columnOf).join(', ')}) VALUES (${values.join(', ')})`,
    params: fields.map((field) => parameter(row[field])),
  };
}

/** Sets the fields of `of` that are not its key in the rows that have these keys. */
export function updateFrom<F extends string>(
  of: Table<F>,
  key: readonly NoInfer<F>[],
  rows: readonly Readonly<Record<F, Value>>[],
): Part {
  const fields = Object.keys(of.columns) as F[];
  const sets = fields
    .filter((field) => !key.includes(field))
    .map((field) => `${columnOf(field)} = v.${columnOf(field)}`);
  const same = key.map((field) => `${of.name}.${columnOf(field)} = v.${columnOf(field)}`);
  const values = valuesOf(of, rows);
  return {
    text: `UPDATE ${of.name} SET ${sets.join(', ')} FROM ${values.text} WHERE ${same.join(' AND ')}`,
    params: values.params,
  };
}

/** A statement of its own from text and parameters. */
export function part(text: string, ...params: readonly (Value | readonly Value[])[]): Part {
  return {
    text,
    params: params.map((param) =>
      isList(param) ? param.map((value) => parameter(value)) : parameter(param),
    ),
  };
}

function isList(param: Value | readonly Value[]): param is readonly Value[] {
  return Array.isArray(param);
}

/** All of `parts` as one statement, which returns nothing. */
export function together(parts: readonly Part[]): Part {
  const params: Parameter[] = [];
  const texts = parts.map((one, at) => {
    const shift = params.length;
    params.push(...one.params);
    const text = one.text.replaceAll(
      /\$(\d+)/g,
      (_, number: string) => `$${Number(number) + shift}`,
    );
    return `p${at} AS (${text})`;
  });
  return { text: `WITH ${texts.join(', ')} SELECT 1 AS done`, params };
}
