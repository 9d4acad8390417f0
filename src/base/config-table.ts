/**
 * Reads the values of a TOML text by the config's schema, and gathers every problem instead of stopping at the first.
 *
 * Promises that a key the schema does not know is a problem too (with the key that was probably meant), and that
 * reading goes on with the default after a problem, so that one run shows them all. Lines are looked up only once
 * there is a problem. Throws nothing of its own.
 */
import type { Static, TSchema } from '@sinclair/typebox';

import { WrongValue } from './config-formats.ts';
import { nameInFile, nodesOf } from './config-node.ts';
import type { KeyNode, Node, RowsNode, TableNode } from './config-node.ts';

type Values = Record<string, unknown>;

/** What is wrong with the file, by dotted paths as the file spells them: `delivery.routes[0].host`. */
export class Problems {
  readonly rows: { path: string; at: string; message: string }[] = [];

  /** `message` goes on after the key's name. `index`: of the item of a list whose line is shown. */
  refuse(path: string, message: string, index: number | null = null): void {
    const at = index === null ? path : `${path}[${index}]`;
    this.rows.push({ path, at, message: `${path} ${message}` });
  }

  /** Whether one of these keys, or a table around it, was refused: what follows from its value means nothing. */
  concern(...paths: string[]): boolean {
    return this.rows.some((row) =>
      paths.some((path) => row.path === path || path.startsWith(`${row.path}.`)),
    );
  }
}

/** The values of the whole file, every key present. What it gives counts only where `problems` stays empty. */
export function readBySchema<S extends TSchema & TableNode>(
  schema: S,
  values: Values,
  problems: Problems,
): Static<S> {
  // The schema's static type is the type of what its formats give, key by key.
  return readTable(schema, values, '', problems);
}

function readTable(table: TableNode, values: Values, path: string, problems: Problems): unknown {
  const known = new Set<string>();
  const read: Values = {};
  for (const [name, node] of nodesOf(table)) {
    const written = nameInFile(name, node);
    known.add(written);
    read[name] = readNode(node, values[written], join(path, written), problems);
  }
  for (const written of Object.keys(values)) {
    if (!known.has(written)) refuseUnknown(written, [...known], path, problems);
  }
  return table.off !== undefined && read[table.off] === null ? null : read;
}

function readNode(node: Node, value: unknown, path: string, problems: Problems): unknown {
  switch (node.kind) {
    case 'key':
      return readKey(node, value, path, problems);
    case 'table':
      if (value !== undefined && !isTable(value)) {
        problems.refuse(path, `must be a table: [${path}]`);
      }
      return readTable(node, isTable(value) ? value : {}, path, problems);
    case 'rows':
      return readRows(node, value ?? [], path, problems);
  }
}

function readKey(node: KeyNode, value: unknown, path: string, problems: Problems): unknown {
  if (value !== undefined) {
    try {
      return node.format.read(value);
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      problems.refuse(path, error.message, error.index);
    }
  } else if (node.default === undefined) {
    problems.refuse(path, 'is missing: it has no default');
  }
  return node.default === null ? null : node.format.read(node.default ?? node.example);
}

function readRows(node: RowsNode, value: unknown, path: string, problems: Problems): unknown {
  if (!Array.isArray(value) || !value.every(isTable)) {
    problems.refuse(path, `must be written as [[${path}]]`);
    return [];
  }
  return value.map((item, index) => readTable(node.items, item, `${path}[${index}]`, problems));
}

/** The values of a table whose keys are all absent. */
export function defaultsOf<S extends TSchema & TableNode>(schema: S): Static<S> {
  return readBySchema(schema, {}, new Problems());
}

function refuseUnknown(key: string, known: string[], path: string, problems: Problems): void {
  const near = known.find((candidate) => isSlip(candidate, key));
  const right =
    near === undefined ? `; known here: ${known.join(', ')}` : `: did you mean ${near}?`;
  problems.refuse(join(path, key), `is not a known key${right}`);
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function isTable(value: unknown): value is Values {
  if (typeof value !== 'object' || value === null) return false;
  // Neither a list nor a date.
  return Object.getPrototypeOf(value) === Object.prototype;
}

/** Whether one letter more, less or other, swapped letters, or another separator, tells the two apart. */
function isSlip(known: string, written: string): boolean {
  const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, '');
  const [a, b] = [plain(known), plain(written)];
  if (a === b) return true;
  if (Math.min(a.length, b.length) < 3) return false;
  if (Array.from(a).toSorted().join('') === Array.from(b).toSorted().join('')) return true;
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  const tail = (key: string, skip: number): string => key.slice(start + skip);
  return tail(a, 1) === tail(b, 1) || tail(a, 1) === tail(b, 0) || tail(a, 0) === tail(b, 1);
}
