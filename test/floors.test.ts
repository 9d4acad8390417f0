/**
 * The house stands: reads the imports of src/ and fails on any that goes up a floor, left along the journey or round in
 * a circle, and on files and names that the house rules forbid.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const SRC = join(import.meta.dir, '../src');
const MAX_LINES = 400;

/** Floor of each folder, and of the files at the top. */
const FLOORS: Record<string, number> = {
  base: 0,
  mail: 1,
  wire: 1,
  store: 1,
  flow: 2,
  api: 3,
  smtp: 3,
  dashboard: 3,
  control: 3,
  commands: 5,
};
const TOP_FLOORS: [RegExp, number][] = [
  [/^appliance(-[a-z]+)*\.ts$/, 4],
  [/^main\.ts$/, 5],
];
/** The journey, left to right; a file belongs to the step that its name begins with. */
const JOURNEY = ['accept', 'queue', 'deliver', 'outcome', 'events', 'webhooks'];
/** Reports that come in from outside stand left of the journey. */
const REPORTS = ['reports', 'bounces', 'complaints'];
const FORBIDDEN_NAME = /(^|-)(utils?|helpers?|managers?|services?)(-|\.)|^index\./;

interface Import {
  from: string;
  to: string;
}

function floorOf(file: string): number {
  const folder = file.includes('/') ? (file.split('/')[0] ?? '') : null;
  if (folder !== null) return FLOORS[folder] ?? Number.NaN;
  return TOP_FLOORS.find(([name]) => name.test(file))?.[1] ?? Number.NaN;
}

/** Place in the journey; null for a file beside it. */
function stepOf(file: string): number | null {
  const word = (file.split('/').at(-1) ?? '').split(/[-.]/)[0] ?? '';
  if (REPORTS.includes(word)) return -1;
  const step = JOURNEY.indexOf(word);
  return step < 0 ? null : step;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  const pattern = /(?:^|\s)(?:import|export)\s[^'";]*?from\s*'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'/g;
  const found = Array.from(text.matchAll(pattern), (match) => match[1] ?? match[2] ?? '');
  return found
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ from: file, to: normalize(join(dirname(file), path)) }))
    .filter(({ to }) => !to.startsWith('..'));
}

const files = Array.from(new Bun.Glob('**/*.ts').scanSync(SRC)).toSorted();
const imports = files.flatMap(importsOf);
const folderOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : file);
const show = ({ from, to }: Import): string => `${from} → ${to}`;

describe('floors', () => {
  test('the test sees the house', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(150);
    expect(imports.map(show)).toContain('flow/accept.ts → store/store.ts');
  });

  test('every file stands on a floor', () => {
    expect(files.filter((file) => Number.isNaN(floorOf(file)))).toEqual([]);
  });

  test('imports go down, or stay in their folder', () => {
    const wrong = imports.filter(({ from, to }) => {
      if (folderOf(from) === folderOf(to)) return false;
      const isTop = !from.includes('/') && !to.includes('/');
      return isTop ? floorOf(to) > floorOf(from) : floorOf(to) >= floorOf(from);
    });
    const up = wrong.filter(({ from, to }) => {
      // main.ts and commands/ share the top floor: main picks a command.
      return !(from === 'main.ts' && to.startsWith('commands/'));
    });
    expect(up.map(show)).toEqual([]);
  });

  test('mail, wire and store never import each other', () => {
    const ground = ['mail', 'wire', 'store'];
    const wrong = imports.filter(
      ({ from, to }) =>
        ground.includes(folderOf(from)) &&
        ground.includes(folderOf(to)) &&
        folderOf(from) !== folderOf(to),
    );
    expect(wrong.map(show)).toEqual([]);
  });

  test('the journey goes to the right only, and what stands beside it stays beside it', () => {
    const wrong = imports.filter(({ from, to }) => {
      if (folderOf(from) !== 'flow' || folderOf(to) !== 'flow') return false;
      const [left, right] = [stepOf(from), stepOf(to)];
      if (right === null) return false;
      return left === null || right < left;
    });
    expect(wrong.map(show)).toEqual([]);
  });

  test('no circles', () => {
    expect(findCircle(imports)).toEqual([]);
  });
});

describe('files', () => {
  const withTests = [
    ...files.map((file) => join(SRC, file)),
    ...Array.from(new Bun.Glob('{test,scripts}/**/*.ts').scanSync(join(SRC, '..')), (file) =>
      join(SRC, '..', file),
    ),
  ];

  test(`none has more than ${MAX_LINES} lines`, () => {
    const long = withTests
      .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
      .filter(({ lines }) => lines > MAX_LINES);
    expect(long).toEqual([]);
  });

  test('names say what is inside', () => {
    const bad = withTests.filter((path) => FORBIDDEN_NAME.test(path.split('/').at(-1) ?? ''));
    expect(bad).toEqual([]);
    const notKebab = files.filter(
      (file) => !/^[a-z0-9-]+(\.d)?\.ts$/.test(file.split('/').at(-1) ?? ''),
    );
    expect(notKebab).toEqual([]);
  });

  test('each of src/ opens with what it promises', () => {
    const silent = files.filter(
      (file) => !/^(#!.*\n)?\/\*\*/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(silent).toEqual([]);
  });
});

/** The files of one circle; empty when there is none. */
function findCircle(all: Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of all) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    const at = path.indexOf(file);
    if (at >= 0) return [...path.slice(at), file];
    if (done.has(file)) return [];
    path.push(file);
    for (const to of targets.get(file) ?? []) {
      const circle = visit(to);
      if (circle.length > 0) return circle;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of targets.keys()) {
    const circle = visit(file);
    if (circle.length > 0) return circle;
  }
  return [];
}
