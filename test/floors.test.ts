/**
 * The floors of the code base: reads the imports of src/ and fails on any that goes up a floor, sideways without an arrow or round
 * in a circle, and on files and names that the rules forbid. Rules go by folder, never by a file's name.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const SRC = join(import.meta.dir, '../src');
const MAX_LINES = 400;

/** Floor of each room, and of main.ts; a folder that is not named here fails. */
const FLOORS: Record<string, number> = {
  base: 0,
  'mail/header': 1,
  'mail/mime': 1,
  'mail/compose': 1,
  'mail/dkim': 1,
  'mail/large': 1,
  'mail/replies': 1,
  'mail/reports': 1,
  wire: 1,
  'wire/addresses': 1,
  'wire/dns': 1,
  'wire/https': 1,
  'wire/smtp': 1,
  'wire/tls': 1,
  store: 1,
  'store/sql': 1,
  'store/postgres': 1,
  'store/sqlite': 1,
  flow: 2,
  'flow/accept': 2,
  'flow/queue': 2,
  'flow/deliver': 2,
  'flow/due': 2,
  'flow/pacing': 2,
  'flow/outcome': 2,
  'flow/webhooks': 2,
  'flow/reports': 2,
  'flow/domains': 2,
  'flow/accounts': 2,
  'flow/suppressions': 2,
  'flow/content': 2,
  'flow/people': 2,
  'flow/upkeep': 2,
  health: 3,
  api: 4,
  'api/routes': 4,
  'api/reference': 4,
  'api/shapes': 4,
  'api/log': 4,
  smtp: 4,
  dashboard: 4,
  'dashboard/pages': 4,
  'dashboard/frame': 4,
  control: 4,
  appliance: 5,
  commands: 6,
  main: 6,
};
/** The arrows between rooms of one floor; every other import stays in its room or goes down. */
const ARROWS: Record<string, string[]> = {
  'mail/header': ['mail/mime'],
  'mail/compose': ['mail/header', 'mail/mime'],
  'mail/dkim': ['mail/compose'],
  'mail/large': ['mail/compose', 'mail/header', 'mail/mime'],
  'mail/reports': ['mail/mime', 'mail/replies'],
  'wire/dns': ['wire/addresses'],
  'wire/https': ['wire/addresses', 'wire/dns'],
  'wire/tls': ['wire/dns', 'wire/https'],
  'store/sql': ['store'],
  'store/postgres': ['store', 'store/sql'],
  'store/sqlite': ['store', 'store/sql'],
  'flow/accept': ['flow/accounts', 'flow/content', 'flow/domains', 'flow/suppressions'],
  'flow/queue': ['flow/deliver', 'flow/due', 'flow/pacing', 'flow/outcome'],
  'flow/deliver': ['flow/pacing', 'flow/outcome'],
  'flow/domains': ['flow/accounts'],
  'flow/reports': ['flow/suppressions'],
  'flow/upkeep': ['flow/accounts'],
  api: ['api/routes', 'api/reference', 'api/shapes', 'api/log'],
  'api/routes': ['api/shapes', 'api/log'],
  // Markup is escaped in one file.
  'api/reference': ['api/routes', 'api/shapes', 'dashboard/frame'],
  dashboard: ['dashboard/pages', 'dashboard/frame'],
  'dashboard/pages': ['dashboard/frame'],
  'flow/webhooks': ['flow/due'],
  // An email of the operator is checked by the same reader as one of the API.
  control: ['api/shapes'],
  main: ['commands'],
};
/** Folders with files that every room inside them may use; these files themselves use no room. */
const GROUNDS = ['flow', 'wire'];
const FORBIDDEN_NAME = /(^|-)(utils?|helpers?|managers?|services?)(-|\.)|^index\./;

interface Import {
  from: string;
  to: string;
}

/** The floors that are divided into rooms: there each folder is one, elsewhere a first folder with all below it. */
const DIVIDED = ['flow', 'mail', 'store', 'wire', 'api', 'dashboard'];

/** The room a file stands in: its folder, from src/ on; `main` for main.ts. */
function roomOf(file: string): string {
  if (file === 'main.ts') return 'main';
  const top = file.split('/')[0] ?? '';
  return DIVIDED.includes(top) ? dirname(file) : top;
}

/** Whether a file of the one room may import one of the other. */
function mayImport(from: string, to: string): boolean {
  if (from === to || ARROWS[from]?.includes(to) === true) return true;
  if (GROUNDS.includes(to) && from.startsWith(`${to}/`)) return true;
  return (FLOORS[to] ?? Number.NaN) < (FLOORS[from] ?? Number.NaN);
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
const show = ({ from, to }: Import): string => `${from} → ${to}`;

describe('floors', () => {
  test('the test sees the code base', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(150);
    expect(imports.map(show)).toContain('flow/store-refusal.ts → store/store.ts');
  });

  test('every file stands in a room that has a floor', () => {
    expect(files.filter((file) => FLOORS[roomOf(file)] === undefined)).toEqual([]);
  });

  test('every room that has a floor has files, and so has each end of an arrow', () => {
    const rooms = new Set(files.map(roomOf));
    const named = [...Object.keys(FLOORS), ...Object.keys(ARROWS), ...Object.values(ARROWS).flat()];
    expect(named.filter((room) => !rooms.has(room))).toEqual([]);
  });

  test('imports stay in their room, go down, or follow an arrow', () => {
    const wrong = imports.filter(({ from, to }) => !mayImport(roomOf(from), roomOf(to)));
    expect(wrong.map(show)).toEqual([]);
  });

  test('the rule tells a climb, a sideways step and a step to the left', () => {
    expect(mayImport('flow/accept', 'api')).toBe(false);
    expect(mayImport('mail/dkim', 'wire/dns')).toBe(false);
    expect(mayImport('mail/mime', 'mail/reports')).toBe(false);
    expect(mayImport('wire', 'wire/smtp')).toBe(false);
    expect(mayImport('flow/outcome', 'flow/queue')).toBe(false);
    expect(mayImport('flow', 'flow/accept')).toBe(false);
    expect(mayImport('store', 'store/sqlite')).toBe(false);
    expect(mayImport('api/shapes', 'api/routes')).toBe(false);
    expect(mayImport('dashboard/frame', 'dashboard/pages')).toBe(false);
    expect(mayImport('flow/accept', 'store/sqlite')).toBe(true);
    expect(mayImport('flow/queue', 'flow')).toBe(true);
    expect(mayImport('wire/smtp', 'wire')).toBe(true);
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
