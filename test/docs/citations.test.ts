/**
 * Every citation resolves: a comment, a test or a document that cites `docs/decisions.md D14` names a document of this
 * repository and an entry in it, and an RFC is cited whole or with its section.
 */
import { describe, expect, test } from 'bun:test';

import { DOCUMENTS, ROOT, idsByDocument, read } from './documents.ts';

const FILES = [
  ...['{src,test,scripts}/**/*', 'install.sh', 'packaging/*'].flatMap((pattern) =>
    Array.from(new Bun.Glob(pattern).scanSync(ROOT)),
  ),
  ...DOCUMENTS,
]
  .filter((file) => /\.(ts|md|sh|sql|css|yml|service)$|^scripts\/[a-z]+$/.test(file))
  .filter((file) => file !== 'test/docs/citations.test.ts')
  .toSorted();

/** A comment as one line: what a citation says may go on behind the next ` * ` or `//`. */
function unwrapped(text: string): string {
  return text.replace(/\n\s*(?:\*|\/\/|#)?\s*/g, ' ');
}

/** Ways of citing texts that nobody has: a heading in place of an entry, or a document that is not in the repository. */
const UNRESOLVABLE =
  /\((?:see )?(?:the )?(?:decisions|interface|design|reliability)(?:, [A-Z]|:| [CHR]\d)|\b(?:Decisions|Interface|Design), [A-Z]|\b(?:resend-compat|bun-notes)\b|\b(?:operator|design|interface|decisions)\.md\b|\bgoals? \d+\b/;

interface Citation {
  file: string;
  document: string;
  ids: string[];
}

/** Each citation of a document with its ids: `docs/x.md D1`, and more after a comma or "and". */
function citationsIn(file: string): Citation[] {
  const cited = unwrapped(read(file)).matchAll(
    /\b(docs\/[a-z-]+\.md) ([CDHLR]\d[\d.]*(?:(?:, | and | to )[CDHLR]\d[\d.]*)*)/g,
  );
  return Array.from(cited, ([, document = '', ids = '']) => ({
    file,
    document,
    ids: ids.split(/, | and | to /).map((id) => id.replace(/\.$/, '')),
  }));
}

describe('citations', () => {
  const known = idsByDocument();

  test('the test sees them', () => {
    expect(FILES.length).toBeGreaterThan(300);
    expect(FILES.flatMap(citationsIn).length).toBeGreaterThan(5);
  });

  test('of documents name an entry that exists', () => {
    const wrong = FILES.flatMap(citationsIn).filter(
      ({ document, ids }) => !ids.every((id) => known.get(document)?.includes(id) === true),
    );
    expect(wrong).toEqual([]);
  });

  test('name nothing that is not in the repository', () => {
    const wrong = FILES.flatMap((file) => {
      const text = unwrapped(read(file)).replace(
        /\bdocs\/decisions\.md\b|\]\((?:docs\/)?decisions\.md/g,
        '',
      );
      const found = UNRESOLVABLE.exec(
        file.startsWith('docs/') ? text.replaceAll('decisions.md', '') : text,
      );
      return found === null ? [] : [`${file}: ${found[0]}`];
    });
    expect(wrong).toEqual([]);
  });

  test('of the rows of the scenario tables are clauses or decisions', () => {
    const ids = new Set(Array.from(known.values()).flat());
    const rows = FILES.filter((file) => file.startsWith('test/scenarios/rows-')).flatMap((file) =>
      Array.from(read(file).matchAll(/\bclause: '([^']+)'/g), ([, id = '']) => ({ file, id })),
    );
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter(({ id }) => !ids.has(id))).toEqual([]);
  });

  test('of RFCs name a section, or none', () => {
    // "RFC 5321 4.5.3" leaves open what the number is.
    const wrong = FILES.flatMap((file) =>
      Array.from(
        unwrapped(read(file)).matchAll(/\bRFC ?\d{3,4}(?:,? §| \d|, \d(?!\d{3}))[^\s,;)]*/g),
        ([found]) => `${file}: ${found}`,
      ),
    );
    expect(wrong).toEqual([]);
  });
});
