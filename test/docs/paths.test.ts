/**
 * What documents point at is there: every file that they name, every file and heading that they link to, and every
 * figure or decision of another document.
 */
import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { DOCUMENTS, ROOT, idsByDocument, read } from './documents.ts';

/** `src/…` and the like, up to what cannot be part of a path. Release notes name what was, not what is. */
const PATH = /(?<![\w./-])(?:src|test|scripts|packaging|migrations|docs)\/[\w./*{},-]*[\w*}/]/g;

function exists(path: string): boolean {
  if (!/[*{]/.test(path)) return existsSync(join(ROOT, path));
  return new Bun.Glob(path).scanSync({ cwd: ROOT, onlyFiles: true }).next().done !== true;
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(file: string): string[] {
  return Array.from(read(file).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .trim()
      .replace(/\s/g, '-'),
  );
}

describe.each([...DOCUMENTS])('%s', (document) => {
  test('names files that exist', () => {
    const named = new Set(read(document).match(PATH) ?? []);
    expect(Array.from(named).filter((path) => !exists(path))).toEqual([]);
  });

  test('names functions and classes that are in the file it names before them', () => {
    const named = read(document).matchAll(/`(src\/[\w./-]+\.ts)`,?\s+\(?`(\w+)`/g);
    const wrong = Array.from(named, ([, file = '', name = '']) => ({ file, name })).filter(
      ({ file, name }) => !new RegExp(`\\b${name}\\b`).test(read(file)),
    );
    expect(wrong).toEqual([]);
  });

  test('links to files and headings that exist', () => {
    const broken = Array.from(
      read(document).matchAll(/\]\(([^)\s]+)\)/g),
      ([, target = '']) => target,
    )
      .filter((target) => !/^(https?|mailto):/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const path = file === '' ? document : normalize(join(dirname(document), file));
        if (!existsSync(join(ROOT, path))) return true;
        return anchor !== undefined && !anchorsOf(path).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

test('no id stands for two entries', () => {
  for (const [file, ids] of idsByDocument()) {
    expect([file, ids.length]).not.toEqual([file, 0]);
    expect([file, ids.filter((id, index) => ids.indexOf(id) !== index)]).toEqual([file, []]);
  }
});

test('docs/architecture.md has the arrows of test/floors.test.ts', () => {
  const [, arrows = ''] =
    /const ARROWS[^{]*\{([\s\S]*?)\n\};/.exec(read('test/floors.test.ts')) ?? [];
  const ofTest = Array.from(arrows.matchAll(/^ +'?([\w/]+)'?: \[([^\]]*)\]/gm), ([, from, to]) => [
    from,
    to?.replaceAll("'", ''),
  ]);
  const [, table = ''] =
    /\| from \| may use \|\n.*\n([\s\S]*?)\n\n/.exec(read('docs/architecture.md')) ?? [];
  const ofDocument = Array.from(table.matchAll(/^\| ([\w/]+) \| (.*) \|$/gm), ([, from, to]) => [
    from,
    to,
  ]);
  expect(ofTest.length).toBeGreaterThan(15);
  expect(ofDocument).toEqual(ofTest);
});
