/**
 * What the index is asked for a query, and what it holds of a row: texts in the index of an older version must go on
 * being found, and a query asks for the few runs of characters that leave the fewest rows.
 */
import { afterEach, expect, spyOn, test } from 'bun:test';
import type { Database } from 'bun:sqlite';

import {
  fold,
  gramQuery,
  markOf,
  pairText,
  rememberingMarks,
  tripleText,
} from '../../../src/store/sqlite/grams.ts';
import { SearchReader } from '../../../src/store/sqlite/search-index.ts';
import { messageText, statusClass } from '../../../src/store/sqlite/search-sources.ts';

afterEach(() => spyOn(Map.prototype, 'clear').mockRestore());

test('a query asks for its runs of three, a shorter one for its pair or what begins with it', () => {
  const asked = ['a', 'é', '#', '"', 'ab', 'a#', '😀', 'a😀', 'abc', 'a"b', 'abcd', 'aaaa', '😀ab']
    .map((text) => [text, gramQuery(['M'], text)] as const)
    .map(([text, { table, terms }]) => [text, table, ...terms]);
  // ASCII that is neither letter nor digit stands 256 characters further on: # (0x23) as ģ (0x123).
  expect(asked).toEqual([
    ['a', 'pairs', '"M"', '"a"*'],
    ['é', 'pairs', '"M"', '"é"*'],
    ['#', 'pairs', '"M"', '"ģ"*'],
    ['"', 'pairs', '"M"', '"Ģ"*'],
    ['ab', 'pairs', '"M"', '"ab"'],
    ['a#', 'pairs', '"M"', '"aģ"'],
    ['😀', 'pairs', '"M"', '"😀"'],
    ['a😀', 'pairs', '"M"', '"a\ud83d"', '"😀"'],
    ['abc', 'triples', '"M"', '"abc"'],
    ['a"b', 'triples', '"M"', '"a""b"'],
    ['abcd', 'triples', '"M"', '"abc"', '"bcd"'],
    ['aaaa', 'triples', '"M"', '"aaa"'],
    ['😀ab', 'triples', '"M"', '"😀ab"'],
  ]);
});

test('a row is kept as its marks, then its text, or each pair of its characters with a filler after the last', () => {
  expect(fold('Ann@ÄRGER.example')).toBe('ann@ärger.example');
  expect(tripleText(['M1', 'M2'], 'ab\nc')).toBe('M1\nM2\nab\nc');
  expect(pairText(['M1', 'M2'], 'a#z9')).toBe('M1 M2 aģ ģz z9 9Ċ');
  expect(pairText(['M'], 'x')).toBe('M xĊ');
  expect(pairText(['M'], '')).toBe('M');
});

test('an email is searched by subject, sender and every address that it goes to, each of them apart', () => {
  const row = { subject: 'Your ORDER', sender: 'Shop <Shop@x.example>' };
  const text = 'your order\nshop <shop@x.example>\n';
  const of = (...to: string[]): string => messageText({ ...row, toList: JSON.stringify(to) });
  expect(of('Ann@x.example', 'ÄNN@y.example', 'c@z.example')).toBe(
    `${text}ann@x.example\nänn@y.example\nc@z.example`,
  );
  expect(of()).toBe(text);
  expect([199, 200, 299, 404, 599].map(statusClass)).toEqual([1, 2, 2, 4, 5]);
});

test('the mark of a value is of its kind, three private characters, and the same for ever', () => {
  const codes = (mark: string): string[] =>
    Array.from(mark, (_, at) => mark.charCodeAt(at).toString(16));
  expect(codes(markOf('account', 'a'))).toEqual(['e6aa', 'eda2', 'e606']);
  expect(codes(markOf('class', 2))).toEqual(['e5db', 'ef60', 'e288']);
  expect(markOf('status', 2)).not.toBe(markOf('class', 2));
});

test('an indexer keeps ten thousand marks, and forgets all of them for the next', () => {
  const remembered = rememberingMarks();
  const forgotten = spyOn(Map.prototype, 'clear');
  for (let at = 0; at < 10_000; at += 1) remembered('account', at);
  expect(forgotten).toHaveBeenCalledTimes(0);
  expect(remembered('account', 10_000)).toBe(markOf('account', 10_000));
  expect(forgotten).toHaveBeenCalledTimes(1);
  expect(remembered('account', 3)).toBe(markOf('account', 3));
  expect(forgotten).toHaveBeenCalledTimes(1);
  // The same value of another kind is another mark.
  expect(remembered('class', 3)).toBe(markOf('class', 3));
});

/** A search file whose terms have their 65th newest row at these numbers, and what it was asked. */
function indexOf(indexedTo: number, reached: (term: string) => number | null) {
  const sampled: unknown[][] = [];
  const matched: unknown[][] = [];
  const prepare = (sql: string): object => ({
    run() {},
    get(...args: unknown[]) {
      if (sql.includes('progress')) return { seq: indexedTo };
      sampled.push(args);
      const seq = reached(String(args[0]));
      return seq === null ? null : { seq };
    },
    iterate(...args: unknown[]) {
      matched.push([sql.includes('DESC') ? 'newest' : 'oldest', ...args]);
      return [{ seq: 5 }, { seq: 4 }];
    },
  });
  const reader = new SearchReader({ prepare } as unknown as Database, 'email');
  return { reader, sampled, matched };
}

const RANGE = { above: 3, below: 900, isForward: false };

test('the index is asked for the four rarest of the runs, by their 65th newest row', () => {
  const at: Record<string, number> = {
    '"M"': 900,
    '"abc"': 400,
    '"bcd"': 800,
    '"cde"': 100,
    '"def"': 935,
  };
  const { reader, sampled, matched } = indexOf(1_000, (term) => at[term] ?? -1);
  expect([...reader.candidates({ marks: ['M'], text: 'abcdef', ...RANGE })]).toEqual([5, 4]);
  expect(sampled).toEqual(Object.keys(at).map((term) => [term, 64]));
  expect(matched).toEqual([['newest', '"cde" AND "abc" AND "bcd" AND "M"', 3, 900]]);
});

test('runs that are in every row are equal, however new the last of them is: the first are asked for', () => {
  // 64 rows back, and newer than is noted to be indexed: no term is more than in every row.
  const at: Record<string, number> = {
    '"M"': 1_020,
    '"abc"': 936,
    '"bcd"': 990,
    '"cde"': 1_000,
    '"def"': 937,
  };
  const { reader, matched } = indexOf(1_000, (term) => at[term] ?? -1);
  expect([
    ...reader.candidates({ marks: ['M'], text: 'abcdef', ...RANGE, isForward: true }),
  ]).toEqual([5, 4]);
  expect(matched).toEqual([['oldest', '"M" AND "abc" AND "bcd" AND "cde"', 3, 900]]);
});

test('a run that hardly any row has is asked for alone', () => {
  const { reader, matched } = indexOf(1_000, (term) => (term === '"cde"' ? null : 900));
  expect([...reader.candidates({ marks: ['M'], text: 'abcdef', ...RANGE })]).toHaveLength(2);
  expect(matched).toEqual([['newest', '"cde"', 3, 900]]);
});

test('of a long query 32 runs are compared, spread over it', () => {
  const text = Array.from({ length: 66 }, (_, at) => String.fromCodePoint(0x400 + at)).join('');
  const terms = gramQuery([], text).terms;
  expect(terms).toHaveLength(64);
  const { reader, sampled } = indexOf(1_000, () => 900);
  expect([...reader.candidates({ marks: [], text, ...RANGE })]).toHaveLength(2);
  expect(sampled.map(([term]) => term)).toEqual(terms.filter((_, at) => at % 2 === 0));
  const shorter = indexOf(1_000, () => 900);
  expect([
    ...shorter.reader.candidates({ marks: [], text: text.slice(0, 34), ...RANGE }),
  ]).toHaveLength(2);
  expect(shorter.sampled.map(([term]) => term)).toEqual(terms.slice(0, 32));
  // Of 48 two in three.
  const between = indexOf(1_000, () => 900);
  expect([
    ...between.reader.candidates({ marks: [], text: text.slice(0, 50), ...RANGE }),
  ]).toHaveLength(2);
  expect(between.sampled.map(([term]) => term)).toEqual(
    terms.slice(0, 48).filter((_, at) => at % 3 !== 1),
  );
});
