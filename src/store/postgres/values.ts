/**
 * Values on their way to PostgreSQL and back.
 *
 * Promises numbers for what PostgreSQL gives as text because it may be larger than a number (int8, numeric): times and
 * counts of the store never are. PostgreSQL's text cannot hold U+0000, which becomes U+FFFD; content, where it may matter,
 * is kept as bytes.
 */

/** What a column holds. */
export type Value = string | number | boolean | Uint8Array | null;
/** What a statement is given: a value, or one for each row. */
export type Parameter = Value | readonly Value[];

/** A column of a result, as the client describes it. */
export interface ResultColumn {
  name: string;
  /** OID of its type. */
  type: number;
}

// OIDs of pg_type: int8, numeric.
const WIDE_NUMBERS: ReadonlySet<number> = new Set([20, 1700]);

/** The value as it can be stored. */
export function parameter(value: Value): Value {
  if (typeof value !== 'string' || !value.includes('\0')) return value;
  return value.replaceAll('\0', '\uFFFD');
}

/** Turns wide numbers of the rows into numbers, in place. */
export function decodeRows(
  rows: Record<string, unknown>[],
  columns: readonly ResultColumn[],
): void {
  const wide = columns.filter(({ type }) => WIDE_NUMBERS.has(type));
  if (wide.length === 0) return;
  for (const row of rows) {
    for (const { name } of wide) {
      const value = row[name];
      if (typeof value === 'string') row[name] = Number(value);
    }
  }
}
