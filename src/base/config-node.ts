/**
 * What the config's schema is made of: keys, tables, tables that one key turns on, and rows of tables, all TypeBox schemas.
 *
 * Promises that everything about a key is said once, where it is declared, and that the types follow from there:
 * `Static` of a schema is what the file gives, `PartOf` the keys of it that need a restart or that need none.
 * Reads nothing and never fails.
 */
import { Type } from '@sinclair/typebox';
import type { Static, TArray, TObject, TProperties, TSchema, TUnsafe } from '@sinclair/typebox';

import type { Format } from './config-formats.ts';

/** When a changed value takes effect: only at the next start, or on a reload too. */
export type When = 'startup' | 'live';

/** A value as TOML has it. */
export type Written = string | number | boolean | Written[];

interface Facts {
  /** What the key means, in sentences. */
  about: string;
  /** As the file would say it; null: the key's absence. Without one the key must be given. */
  default?: Written | null;
  /** What the default means where it does not say so itself: `off`. */
  means?: string;
  /** For keys that the written file shows commented out, and for keys without a default. */
  example?: Written;
  /** Whether a change waits for a restart. Inside rows and switched tables theirs counts. */
  restart?: true;
}

type WhenOf<F> = F extends { restart: true } ? 'startup' : 'live';

export interface KeyFacts extends Facts {
  kind: 'key';
  format: Format<unknown>;
}

export interface TableFacts {
  kind: 'table';
  about: string;
  /** A table whose static type is null while this key is empty. */
  off?: string;
  when?: When;
}

export interface RowsFacts {
  kind: 'rows';
  about: string;
  when: When;
}

export type KeyNode = TSchema & KeyFacts & { when: When };
export type TableNode = TSchema & TableFacts & { properties: TProperties };
export type RowsNode = TSchema & RowsFacts & { items: TableNode };
export type Node = KeyNode | TableNode | RowsNode;

type Key<T, W extends When> = TUnsafe<T> & KeyFacts & { when: W };

/** A key with a value of this format. */
export function key<T, const F extends Facts>(
  format: Format<T>,
  facts: F,
): Key<F extends { default: null } ? T | null : T, WhenOf<F>> {
  const when = (facts.restart === true ? 'startup' : 'live') as WhenOf<F>;
  return Object.assign(Type.Unsafe<F extends { default: null } ? T | null : T>(), {
    ...(facts as Facts),
    kind: 'key' as const,
    format,
    when,
  });
}

/** `[about]`: what stands above the table in the written file. */
export function table<P extends TProperties>(
  about: string,
  properties: P,
): TObject<P> & TableFacts & { properties: P } {
  return Object.assign(Type.Object(properties), { kind: 'table' as const, about });
}

type SwitchedOn<P extends TProperties, K extends string> = {
  [N in keyof P]: N extends K ? NonNullable<Static<P[N]>> : Static<P[N]>;
};

/** A table that is null while its key `off` is empty. */
export function switched<
  P extends TProperties,
  const F extends { about: string; off: string & keyof P; restart?: true },
>(
  facts: F,
  properties: P,
): TUnsafe<SwitchedOn<P, F['off']> | null> & TableFacts & { properties: P; when: WhenOf<F> } {
  const when = (facts.restart === true ? 'startup' : 'live') as WhenOf<F>;
  return Object.assign(Type.Unsafe<SwitchedOn<P, F['off']> | null>(), {
    kind: 'table' as const,
    about: facts.about,
    off: facts.off,
    properties,
    when,
  });
}

/** `[[name]]`: any number of tables of one shape. */
export function rows<P extends TProperties, const F extends { about: string; restart?: true }>(
  facts: F,
  properties: P,
): TArray<TObject<P>> & RowsFacts & { items: TableNode; when: WhenOf<F> } {
  const when = (facts.restart === true ? 'startup' : 'live') as WhenOf<F>;
  const items = table('', properties);
  return Object.assign(Type.Array(items), { kind: 'rows' as const, about: facts.about, when });
}

/** The key as the file spells it: `bouncesPer1000` is `bounces_per_1000`, `expiresMs` is `expires`. */
export function nameInFile(name: string, node: Node): string {
  const unit = node.kind === 'key' ? (node.format.unit ?? '') : '';
  const bare = unit !== '' && name.endsWith(unit) ? name.slice(0, -unit.length) : name;
  return bare
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll(/(?<=[a-z])\d/g, (digit) => `_${digit}`);
}

/** The nodes of a table by their names in the code. */
export function nodesOf(node: TableNode): [name: string, node: Node][] {
  return Object.entries(node.properties) as [string, Node][];
}

/** Nothing in it can be changed. */
export type Frozen<T> =
  T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, Frozen<V>>
    : { readonly [K in keyof T]: Frozen<T[K]> };

type Holds<S, W extends When> = S extends { when: When }
  ? S['when'] extends W
    ? true
    : false
  : S extends TObject<infer P>
    ? true extends { [K in keyof P]: Holds<P[K], W> }[keyof P]
      ? true
      : false
    : false;

/** What a table's keys of one kind give; tables without such a key are left out. */
export type PartOf<S extends TSchema, W extends When> =
  S extends TObject<infer P>
    ? {
        readonly [K in keyof P as Holds<P[K], W> extends true ? K : never]: P[K] extends {
          when: When;
        }
          ? Frozen<Static<P[K]>>
          : PartOf<P[K], W>;
      }
    : never;
