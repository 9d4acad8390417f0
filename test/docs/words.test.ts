/**
 * Keeps retired words out of everything that is read: code, comments, tests, logs, documents, installer, packaging.
 *
 * Fails with file, line and what to say instead. The words stand in `retired-words.ts`, their meanings in
 * `docs/glossary.md`.
 */
import { describe, expect, test } from 'bun:test';

import { ROOT, read } from './documents.ts';
import { ALLOWED_PHRASES, EXEMPT, ONE_MEANING, RETIRED_WORDS } from './retired-words.ts';

const LOOKED_AT = [
  '*.md',
  'docs/**/*.md',
  '{src,test}/**/*.{ts,css,tsv,py}',
  'scripts/*',
  'packaging/*',
  'install.sh',
];

const files = LOOKED_AT.flatMap((pattern) => Array.from(new Bun.Glob(pattern).scanSync(ROOT)))
  .filter((file) => !EXEMPT.some((pattern) => pattern.test(file)))
  .toSorted();

function apart(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]/g, ' ')
    .toLowerCase();
}

/** The text as the patterns read it: names taken apart, lower case, allowed phrases gone. */
function plain(line: string): string {
  return ALLOWED_PHRASES.reduce((text, phrase) => text.replaceAll(phrase, '…'), apart(line));
}

/** Every retired word of a text: its line, what it is, what to say instead. */
function retiredIn(text: string, file = ''): string[] {
  return text.split('\n').flatMap((line, index) => {
    const read = plain(line);
    return RETIRED_WORDS.flatMap(({ pattern, instead, exceptIn }) => {
      const found = exceptIn?.test(file) === true ? undefined : pattern.exec(read)?.[0];
      return found === undefined ? [] : [`${index + 1}: "${found}" (say: ${instead})`];
    });
  });
}

describe('words', () => {
  test('the test sees the repository', () => {
    expect(files.length).toBeGreaterThan(300);
    for (const file of ['README.md', 'install.sh', 'src/main.ts', 'packaging/postrider.service']) {
      expect(files).toContain(file);
    }
  });

  test('it knows a retired word in a sentence, in a name and in a title', () => {
    expect(retiredIn('a place that answers')).toHaveLength(1);
    expect(retiredIn('const seatsLeft = freeRoom;')).toHaveLength(2);
    expect(retiredIn("test('what is given less, and whose turn it is', () => {")).toHaveLength(2);
    expect(
      retiredIn('the record is in place; placeholder="name"; a threshold; it returns.'),
    ).toEqual([]);
  });

  test('no file says what has a better word', () => {
    const found = files.flatMap((file) =>
      retiredIn(read(file), file).map((line) => `${file}:${line}`),
    );
    expect(found).toEqual([]);
  });

  test('a phrase that is allowed is used', () => {
    const all = files.map((file) => apart(read(file))).join('\n');
    expect(ALLOWED_PHRASES.filter((phrase) => !all.includes(phrase))).toEqual([]);
  });

  test.each(Object.entries(ONE_MEANING))('%s is defined once, in %s', (name, home) => {
    const pattern = new RegExp(`\\b(?:class|interface|type|enum) ${name}\\b`);
    const homes = files.filter((file) => file.startsWith('src/') && pattern.test(read(file)));
    expect(homes).toEqual([home]);
  });

  test('the glossary says each term once', () => {
    const [glossary = ''] = read('docs/glossary.md').split('## Retired words');
    const terms = Array.from(
      glossary.matchAll(/^\| ([^|]+) \| [^|]+\|[^|]*\|$/gm),
      ([, term = '']) => term,
    )
      .flatMap((term) => term.split(', '))
      .filter((term) => term !== 'term');
    expect(terms.length).toBeGreaterThan(80);
    expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
  });
});
