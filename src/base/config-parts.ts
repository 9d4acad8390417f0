/**
 * Divides the config into what needs a restart and what a reload replaces, and freezes both.
 *
 * Promises that each key is in one of the two, as the schema marks it, and that nobody can change a value afterwards: a
 * write throws. Never fails.
 */
import type { Static, TSchema } from '@sinclair/typebox';

import { nameInFile, nodesOf } from './config-node.ts';
import type { PartOf, TableNode, When } from './config-node.ts';

type Values = Readonly<Record<string, unknown>>;

/** The keys of `values` that the schema marks so. */
export function partOf<S extends TSchema & TableNode, W extends When>(
  schema: S,
  values: Static<S>,
  when: W,
): PartOf<S, W>;
export function partOf(table: TableNode, values: Values, when: When): Values {
  const part: Record<string, unknown> = {};
  for (const [name, node] of nodesOf(table)) {
    if (node.kind === 'table' && node.when === undefined) {
      const below = partOf(node, tableIn(values, name), when);
      if (Object.keys(below).length > 0) part[name] = below;
    } else if (node.when === when) part[name] = values[name];
  }
  return part;
}

/** Keys that need a restart and differ, as the file spells them: `http.listen`. */
export function differencesAtStartup(
  table: TableNode,
  old: Values,
  next: Values,
  path = '',
): string[] {
  return nodesOf(table).flatMap(([name, node]) => {
    const full = `${path}${nameInFile(name, node)}`;
    if (node.kind === 'table' && node.when === undefined) {
      return differencesAtStartup(node, tableIn(old, name), tableIn(next, name), `${full}.`);
    }
    if (node.when !== 'startup') return [];
    return Bun.deepEquals(old[name], next[name]) ? [] : [full];
  });
}

/** A table without a key of the kind is not in the part. */
function tableIn(values: Values, name: string): Values {
  const value = values[name];
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Freezes `value` and all that is in it, keys and values of maps too, and returns it. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    if (value instanceof Map) {
      for (const item of value.values()) freezeDeep(item);
      for (const verb of ['set', 'delete', 'clear']) {
        Object.defineProperty(value, verb, { value: refuseChange });
      }
    }
    Object.freeze(value);
    for (const item of Object.values(value)) freezeDeep(item);
  }
  return value;
}

function refuseChange(): never {
  throw new TypeError('the config is frozen');
}
