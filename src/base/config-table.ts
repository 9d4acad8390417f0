/**
 * Reading one table of the config file key by key, gathering every problem instead of stopping at the first.
 *
 * Promises that a key nobody asked for is a problem too (with the nearest known key, when it looks like a slip), and
 * that reading goes on with the default after a problem, so that one run shows them all.
 */
import { lineOf } from './config-lines.ts';
import type { KeyLines } from './config-lines.ts';
import { WrongValue } from './config-values.ts';
import type { Reader } from './config-values.ts';

export interface Problem {
  line: number;
  message: string;
}

export class ConfigTable {
  readonly #values: Record<string, unknown>;
  readonly #path: string;
  readonly #lines: KeyLines;
  readonly #problems: Problem[];
  readonly #asked = new Set<string>();

  /** `path`: dotted, empty for the top. Problems are added to `problems`. */
  constructor(values: Record<string, unknown>, path: string, lines: KeyLines, problems: Problem[]) {
    this.#values = values;
    this.#path = path;
    this.#lines = lines;
    this.#problems = problems;
  }

  has(key: string): boolean {
    return this.#values[key] !== undefined;
  }

  /** The key's value, or `fallback` where it is absent or wrong. */
  read<T>(key: string, reader: Reader<T>, fallback: T): T {
    this.#asked.add(key);
    const value = this.#values[key];
    if (value === undefined) return fallback;
    try {
      return reader(value);
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      this.refuse(key, error.message);
      return fallback;
    }
  }

  /** As `read`, but absence is a problem too. */
  require<T>(key: string, reader: Reader<T>, fallback: T): T {
    if (!this.has(key)) this.refuse(key, 'is missing: it has no default');
    return this.read(key, reader, fallback);
  }

  /** The table below `key`; an empty one where it is absent or no table. */
  table(key: string): ConfigTable {
    this.#asked.add(key);
    const value = this.#values[key];
    if (value !== undefined && !isTable(value)) this.refuse(key, `must be a table: [${key}]`);
    return new ConfigTable(
      isTable(value) ? value : {},
      this.#full(key),
      this.#lines,
      this.#problems,
    );
  }

  /** The tables of an array of tables. */
  tables(key: string): ConfigTable[] {
    this.#asked.add(key);
    const value = this.#values[key] ?? [];
    if (!Array.isArray(value) || !value.every(isTable)) {
      this.refuse(key, `must be written as [[${this.#full(key)}]]`);
      return [];
    }
    return value.map(
      (item, index) =>
        new ConfigTable(item, `${this.#full(key)}[${index}]`, this.#lines, this.#problems),
    );
  }

  /** Records a problem with `key`; `message` goes on after the key's name. */
  refuse(key: string, message: string): void {
    const path = this.#full(key);
    this.#problems.push({ line: lineOf(this.#lines, path), message: `${path} ${message}` });
  }

  /** Call last: keys that were never asked for are unknown. */
  refuseOthers(): void {
    for (const key of Object.keys(this.#values)) {
      if (this.#asked.has(key)) continue;
      const near = Array.from(this.#asked).find((known) => isSlip(known, key));
      const known = Array.from(this.#asked).join(', ');
      const right = near === undefined ? `; known here: ${known}` : `: is it ${near}?`;
      this.refuse(key, `is no known key${right}`);
    }
  }

  #full(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) !== null
    ? Object.getPrototypeOf(value) === Object.prototype
    : typeof value === 'object' && value !== null;
}

/** Whether one letter more, less or other, swapped letters, or another separator, tells the two apart. */
function isSlip(known: string, written: string): boolean {
  const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, '');
  const [a, b] = [plain(known), plain(written)];
  if (a === b) return true;
  if (Math.abs(a.length - b.length) > 1 || Math.min(a.length, b.length) < 3) return false;
  if (Array.from(a).toSorted().join('') === Array.from(b).toSorted().join('')) return true;
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  const tail = (key: string, skip: number): string => key.slice(start + skip);
  return tail(a, 1) === tail(b, 1) || tail(a, 1) === tail(b, 0) || tail(a, 0) === tail(b, 1);
}
