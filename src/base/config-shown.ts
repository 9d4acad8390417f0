/**
 * The config that is in force, key by key as the file spells it, for people to read.
 *
 * Promises that a secret is never among the values: what the schema calls one is said to be set, or not. Never fails.
 */
import type { Config } from './config.ts';
import { CONFIG_FILE } from './config-schema.ts';
import { hostPattern, secret } from './config-formats.ts';
import { nameInFile, nodesOf, type Node, type TableNode, type When } from './config-node.ts';

export interface ShownKey {
  /** Dotted, with `[n]` for tables in a list: `delivery.smarthost.host`. */
  path: string;
  value: string;
  /** Whether a change needs a restart. */
  needsRestart: boolean;
}

const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];
const HIDDEN = '(set, hidden)';
const UNSET = '(not set)';

export function shownConfig(config: Config): ShownKey[] {
  const rows: ShownKey[] = [];
  showTable(CONFIG_FILE, [config.startup, config.live], '', rows);
  return rows;
}

/**
 * `parts`: the startup and the live part of the same table; a key is in one of them. `around`: when all of a table that
 * is switched, or in a list, takes effect.
 */
function showTable(
  table: TableNode,
  parts: readonly unknown[],
  path: string,
  rows: ShownKey[],
  around?: When,
): void {
  for (const [name, node] of nodesOf(table)) {
    const written = nameInFile(name, node);
    const at = path === '' ? written : `${path}.${written}`;
    const values = parts.map((part) => memberOf(part, name)).filter((value) => value !== undefined);
    if (values.length > 0) showNode(node, values, at, rows, around);
  }
}

function showNode(
  node: Node,
  values: readonly unknown[],
  at: string,
  rows: ShownKey[],
  around: When | undefined,
): void {
  const when = around ?? node.when;
  if (node.kind === 'table') {
    showTable(node, values, at, rows, when);
  } else if (node.kind === 'rows') {
    const items = values.flatMap(itemsOf);
    for (const [index, item] of items.entries()) {
      // A route has the keys of its destination, its own or the smarthost's, in a value of their own.
      showTable(node.items, [item, memberOf(item, 'target')], `${at}[${index}]`, rows, when);
    }
  } else {
    const [value] = values;
    const isDuration = node.format.unit === 'Ms' && typeof value === 'number';
    const words = isDuration ? durationOf(value) : wordsOf(value);
    // Read without its star.
    const isPattern = node.format.words.endsWith(hostPattern.words);
    const written = isPattern ? words.replaceAll(/(?<=^|, )\./g, '*.') : words;
    const shown = node.format === secret ? (isSet(value) ? HIDDEN : UNSET) : written;
    rows.push({ path: at, value: shown, needsRestart: when === 'startup' });
  }
}

function memberOf(part: unknown, name: string): unknown {
  if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return undefined;
  return Reflect.get(part, name);
}

function itemsOf(value: unknown): unknown[] {
  if (value instanceof Map) return [...value.values()];
  return Array.isArray(value) ? value : [];
}

/** As the file may spell it: the largest unit that divides it. */
function durationOf(ms: number): string {
  if (ms === 0) return '0';
  const [unit, length] = UNITS.find(([, length]) => ms % length === 0) ?? ['ms', 1];
  return `${ms / length}${unit}`;
}

function isSet(value: unknown): boolean {
  return value !== null && value !== '';
}

function wordsOf(value: unknown): string {
  if (value === null || value === '') return UNSET;
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(itemOf).join(', ');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return JSON.stringify(value) ?? UNSET;
  const [host, port] = [memberOf(value, 'host'), memberOf(value, 'port')];
  if (typeof host !== 'string' || typeof port !== 'number') return JSON.stringify(value);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A list in a list keeps its brackets. */
function itemOf(item: unknown): string {
  return Array.isArray(item) ? `[${wordsOf(item)}]` : wordsOf(item);
}
