/**
 * The table of log events in `docs/logging.md` is true: each event of the code stands in it with its level, and nothing
 * else does. Names are snake_case, because operators search for them.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/** `event level` of each call of a log in src/. */
function eventsOfCode(): string[] {
  const found = new Set<string>();
  for (const file of new Bun.Glob('src/**/*.ts').scanSync(ROOT)) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const match of text.matchAll(/\blog\.(info|warn|error)\(\s*'([^']+)'/gi)) {
      found.add(`${match[2]} ${match[1]}`);
    }
    // A job that runs by the clock says what its failed run is called (src/base/periodic.ts).
    for (const [, event] of text.matchAll(/\bevent: '([^']+)',\s*hint/g)) {
      found.add(`${event} error`);
    }
  }
  return Array.from(found).toSorted();
}

/** `event level` of each row; a row may name several events, with one level each or one for all. */
function eventsOfTable(): string[] {
  const rows = readFileSync(join(ROOT, 'docs/logging.md'), 'utf8').matchAll(
    /^\| (`.+?`) \| ([a-z, ]+) \|/gm,
  );
  return Array.from(rows, ([, names = '', levels = '']) => {
    const level = levels.split(', ');
    return Array.from(
      names.matchAll(/`([^`]+)`/g),
      ([, name], index) => `${name} ${level[index] ?? level[0]}`,
    );
  })
    .flat()
    .toSorted();
}

test('the test sees the events', () => {
  expect(eventsOfCode()).toContain('attempt info');
  expect(eventsOfCode().length).toBeGreaterThan(50);
});

test('docs/logging.md names every event with its level, once', () => {
  expect(eventsOfTable()).toEqual(eventsOfCode());
});

test('names are snake_case', () => {
  const names = eventsOfCode().map((event) => event.slice(0, event.lastIndexOf(' ')));
  expect(names.filter((name) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name))).toEqual([]);
});
