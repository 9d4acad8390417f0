/**
 * No ambient state: what lives as long as the appliance is an object made in appliance/ and handed down. Reads the
 * source for module variables and for collections that a module fills, which would be shared by everything in the process.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SRC = join(import.meta.dir, '../src');

/** Variables, empty collections and weak collections at the level of a module. */
const STATE = [
  /^(?:export )?(?:let|var) \w+/gm,
  /^(?:export )?const \w+[^=\n]*= new (?:Map|Set)(?:<[^\n]*>)?\(\);/gm,
  /^(?:export )?const \w+[^=\n]*= new Weak(?:Map|Set|Ref)\b/gm,
  /^(?:export )?const \w+[^=\n]*= \[\];/gm,
];

function stateOf(text: string): string[] {
  return STATE.flatMap((pattern) => text.match(pattern) ?? []);
}

test('the patterns find what they are for', () => {
  expect(stateOf('let thread: Thread | null = null;')).toHaveLength(1);
  expect(stateOf('const seen = new Map<string, number>();')).toHaveLength(1);
  expect(stateOf('export const keys: WeakMap<object, Key> = new WeakMap();')).toHaveLength(1);
  expect(stateOf('const found: string[] = [];')).toHaveLength(1);
  expect(stateOf("const FINAL: ReadonlySet<string> = new Set(['delivered']);")).toEqual([]);
  expect(stateOf('  let count = 0;')).toEqual([]);
});

test('no module of src/ holds state', () => {
  const found = Array.from(new Bun.Glob('**/*.ts').scanSync(SRC)).flatMap((file) =>
    stateOf(readFileSync(join(SRC, file), 'utf8')).map((line) => `${file}: ${line}`),
  );
  expect(found).toEqual([]);
});
