/** The boundary of the store: times and ids come from the caller, every verb is a promise, SQL stays below. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Store } from '../../src/store/store.ts';

const STORE = join(import.meta.dir, '../../src/store');

/** A wall clock, a source of ids, or random bits. `performance.now` measures and is no time of business. */
const CLOCK =
  /\bDate\.now\b|\bnew Date\(\)|\/clock\.ts'|\bIdSource\b|\brandomUUID|\bMath\.random\b/;

/** The files of the store that match, with their text. */
function filesIn(pattern: string): { file: string; text: string }[] {
  return Array.from(new Bun.Glob(pattern).scanSync(STORE), (file) => ({
    file,
    text: readFileSync(join(STORE, file), 'utf8'),
  }));
}

test('no file of the store reads a clock or makes an id', () => {
  const files = filesIn('**/*.ts');
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter(({ text }) => CLOCK.test(text)).map(({ file }) => file)).toEqual([]);
  expect(CLOCK.test('const id = ids.next(Date.now());')).toBe(true);
});

test('above sqlite/ only the directory lock knows SQLite', () => {
  const files = filesIn('*.ts').filter(({ text }) => text.includes('bun:sqlite'));
  expect(files.map(({ file }) => file)).toEqual(['directory-lock.ts']);
});

test('above sqlite/ tests open stores through stores.ts alone, for every kind of store', () => {
  const files = Array.from(new Bun.Glob('*.ts').scanSync(import.meta.dir), (file) => ({
    file,
    text: readFileSync(join(import.meta.dir, file), 'utf8'),
  }));
  expect(files.length).toBeGreaterThan(20);
  const opens = /from '(?:[^']*\/test-store\.ts|[^']*store\/sqlite\/[^']*|bun:sqlite)'/;
  const found = files.filter(({ text }) => opens.test(text)).map(({ file }) => file);
  expect(found.toSorted()).toEqual(['stores.ts', 'test-store.ts']);
});

/** Verbs whose effect only a kind of store itself can show: what they leave in files. */
const OF_FILES = ['backUpTo', 'scrub'];

test('every verb is called by a test that runs for each kind of store', () => {
  const verbs = filesIn('*.ts')
    .flatMap(({ text }) => text.match(/^export interface \w*Store\b[^]*?^}/gm) ?? [])
    .flatMap((port) => Array.from(port.matchAll(/^ {2}(\w+)\(/gm), ([, verb = '']) => verb));
  expect(verbs.length).toBeGreaterThan(80);
  const tests = Array.from(new Bun.Glob('*.ts').scanSync(import.meta.dir), (file) =>
    readFileSync(join(import.meta.dir, file), 'utf8'),
  ).join('');
  const untested = verbs.filter((verb) => !new RegExp(`\\.${verb}\\(`).test(tests));
  expect(untested.toSorted()).toEqual(OF_FILES);
});

/** The verbs that answer without a promise. */
type Synchronous = {
  [K in keyof Store]: ReturnType<Store[K]> extends Promise<unknown> ? never : K;
}[keyof Store];

test('every verb answers with a promise', () => {
  // Checked by the compiler: a synchronous verb would be a member of the type, and `true` would not compile.
  const isNone: [Synchronous] extends [never] ? true : false = true;
  expect(isNone).toBe(true);
});
