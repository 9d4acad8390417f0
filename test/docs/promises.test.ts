/**
 * The README's promises have their tests: the table of `docs/reliability.md` names, for each of the five, files and
 * titles that exist.
 */
import { expect, test } from 'bun:test';

import { read } from './documents.ts';

const ROWS = Array.from(
  read('docs/reliability.md').matchAll(/^\| (\d)[^|]*\| `(test\/[^`]+)` \| ([^|]+) \|$/gm),
  ([, promise = '', file = '', title = '']) => ({ promise, file, title }),
);

test('each of the five promises has a test', () => {
  expect(new Set(ROWS.map(({ promise }) => promise))).toEqual(new Set(['1', '2', '3', '4', '5']));
});

test.each(ROWS)('$promise: $file, $title', ({ file, title }) => {
  expect({ file, title, isThere: read(file).includes(title) }).toEqual({
    file,
    title,
    isThere: true,
  });
});

test('the README makes these five promises', () => {
  const promises = /## What it promises\n\n([\s\S]+?)\n\n## /.exec(read('README.md'))?.[1] ?? '';
  expect(promises.match(/^\d\./gm)).toEqual(['1.', '2.', '3.', '4.', '5.']);
});
