/** CSV in exact words: errors and their lines, rows as they are written, where a text is cut, and the pages of an export. */
import { expect, test } from 'bun:test';
import {
  exportSuppressions,
  importSuppressions,
  piecesWithHeader,
} from '../../../src/flow/suppressions/csv-import.ts';
import {
  CsvError,
  csvPieces,
  csvRow,
  fieldOf,
  readCsv,
} from '../../../src/flow/suppressions/csv.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { Suppression } from '../../../src/store/rows.ts';

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function rowsOf(text: string, firstLine?: number): Promise<unknown[]> {
  const rows: unknown[] = [];
  try {
    for await (const { line, fields } of readCsv(bytesOf(text), firstLine)) {
      rows.push([line, ...fields]);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    rows.push(`${error.name} ${error.line}: ${error.message}`);
  }
  return rows;
}

test('what is wrong with a file, and on which line the row begins', async () => {
  const long = 'x'.repeat(65_536);
  expect(
    await Promise.all([
      rowsOf('a\n"b\n\nc'),
      rowsOf('a\n"b"c'),
      rowsOf('a\nb"'),
      rowsOf(`a\n${long}\n`),
      rowsOf(`a\n\n\n"${long}`),
      rowsOf('a\n"b\nc" ,d', 40),
      rowsOf('a\n\n"b\nc"\r\n\r"d', 40),
      rowsOf('a\n"b\nc",d"', 40),
    ]),
  ).toEqual([
    [[1, 'a'], 'CsvError 2: line 2: a quotation mark is not closed'],
    [[1, 'a'], 'CsvError 2: line 2: there is text behind a closing quotation mark'],
    [[1, 'a'], 'CsvError 2: line 2: there is a quotation mark inside a field without them'],
    [[1, 'a'], 'CsvError 2: line 2: the row has more than 65536 characters'],
    [[1, 'a'], 'CsvError 4: line 4: the row has more than 65536 characters'],
    [[40, 'a'], 'CsvError 41: line 41: there is text behind a closing quotation mark'],
    [[40, 'a'], [42, 'b\nc'], 'CsvError 45: line 45: a quotation mark is not closed'],
    [[40, 'a'], 'CsvError 41: line 41: there is a quotation mark inside a field without them'],
  ]);
});

test('each row may have 65,536 characters, its line end among them', async () => {
  const row = (length: number): string => `${'x'.repeat(length - 1)}\n`;
  for (const begin of ['', 'a\n', row(65_536)]) {
    const lines = begin === '' ? 0 : 1;
    const kinds = (await rowsOf(begin + row(65_536))).map((one) => typeof one);
    expect(kinds).toEqual(Array.from({ length: lines + 1 }, () => 'object'));
    expect(await rowsOf(begin + row(65_537))).toEqual(
      expect.arrayContaining([
        `CsvError ${lines + 1}: line ${lines + 1}: the row has more than 65536 characters`,
      ]),
    );
  }
});

test('fields as they are written, and read back', () => {
  const cells: [field: string | null, cell: string][] = [
    [null, ''],
    ['', ''],
    ['a b', 'a b'],
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\nb', '"a\nb"'],
    ['a\rb', '"a\rb"'],
    ['=1', "'=1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@a', "'@a"],
    ['\ta', "'\ta"],
    ['\ra', `"'\ra"`],
    ["'=1", "''=1"],
    ["'a", "'a"],
    ['a=1', 'a=1'],
    ['=a,"b"', `"'=a,""b"""`],
  ];
  for (const [field, cell] of cells) expect(csvRow([field])).toBe(`${cell}\r\n`);
  expect(csvRow(['a', null, 'b'])).toBe('a,,b\r\n');
  expect(["'=1", "''=1", "'a", '=1', "a'=1"].map(fieldOf)).toEqual([
    '=1',
    "'=1",
    "'a",
    '=1',
    "a'=1",
  ]);
});

test('a text is cut behind the row that reaches the length, and never within one', () => {
  const text = 'aa\nbb\r\n"c\nc"\ndd';
  const pieces = (length: number): unknown[] =>
    Array.from(csvPieces(text, length), ({ text: piece, line }) => [line, piece]);
  expect([pieces(1), pieces(3), pieces(4), pieces(8), pieces(100)]).toEqual([
    [
      [1, 'aa\n'],
      [2, 'bb\r\n'],
      [3, '"c\nc"\n'],
      [5, 'dd'],
    ],
    [
      [1, 'aa\n'],
      [2, 'bb\r\n'],
      [3, '"c\nc"\n'],
      [5, 'dd'],
    ],
    [
      [1, 'aa\nbb\r\n'],
      [3, '"c\nc"\n'],
      [5, 'dd'],
    ],
    [
      [1, 'aa\nbb\r\n"c\nc"\n'],
      [5, 'dd'],
    ],
    [[1, text]],
  ]);
});

test('a header goes in front of every piece but the first; one that cannot be read does not', async () => {
  const pieces = async (text: string): Promise<unknown[]> => {
    const all: unknown[] = [];
    for await (const { text: piece, line } of piecesWithHeader(text, 4)) all.push([line, piece]);
    return all;
  };
  expect(await pieces('"E-mail\r\naddress",x\r\na@b.c\r\nd@e.f\r\n')).toEqual([
    [1, '"E-mail\r\naddress",x\r\n'],
    [3, 'a@b.c\r\n'],
    [4, 'd@e.f\r\n'],
  ]);
  expect(await pieces('email,"x\ny"\na@b.c\rd@e.f\r')).toEqual([
    [1, 'email,"x\ny"\n'],
    [1, 'email,"x\ny"\na@b.c\r'],
    [2, 'email,"x\ny"\nd@e.f\r'],
  ]);
  expect(await pieces('em"ail\na@b.c\n')).toEqual([[1, 'em"ail\na@b.c\n']]);
});

test('an export asks for a thousand at a time, and begins each page behind the last address', async () => {
  const row = (n: number): Suppression => ({
    id: `${n}`,
    accountId: 'a',
    email: `r${n}@x.example`,
    reason: 'complaint',
    source: n === 0 ? null : 'api',
    note: n === 0 ? 'a, "b"' : null,
    createdAt: Date.UTC(2026, 0, 15) + n,
  });
  const asked: unknown[] = [];
  const pages = [
    { rows: [row(0), row(1)], hasMore: true },
    { rows: [row(2)], hasMore: false },
  ];
  const store = {
    async suppressions(...args: unknown[]) {
      asked.push(args);
      return pages.shift() ?? { rows: [], hasMore: true };
    },
  } as unknown as Context['store'];
  const chunks = async (): Promise<string[]> => {
    const all: string[] = [];
    for await (const chunk of exportSuppressions({ store }, 'a')) all.push(chunk);
    return all;
  };
  expect(await chunks()).toEqual([
    'email,reason,source,note,created_at\r\n',
    'r0@x.example,complaint,,"a, ""b""",2026-01-15T00:00:00.000Z\r\nr1@x.example,complaint,api,,2026-01-15T00:00:00.001Z\r\n',
    'r2@x.example,complaint,api,,2026-01-15T00:00:00.002Z\r\n',
  ]);
  expect(asked).toEqual([
    ['a', null, { limit: 1_000, after: null, before: null }],
    ['a', null, { limit: 1_000, after: 'r1@x.example', before: null }],
  ]);
  // A page without rows ends it, whatever it says.
  expect(await chunks()).toHaveLength(1);
});

test('an import writes a thousand rows at once, each with an id, and lets others run between its slices', async () => {
  const batches: Suppression[][] = [];
  let ids = 0;
  const ctx = {
    clock: { now: () => 5 },
    ids: { next: (at: number) => `${at} ${(ids += 1)}` },
    store: {
      async addSuppressions(batch: Suppression[]) {
        batches.push(batch);
        return batch.length - 1;
      },
    },
  } as unknown as Context;
  const rows = Array.from({ length: 1_500 }, (_, n) => `r${n}@x.example\n`).join('');
  let others = 0;
  let isOver = false;
  const other = (): void => {
    others += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const result = await importSuppressions(ctx, 'a', bytesOf(rows));
  isOver = true;
  expect(result).toEqual({ rows: 1_500, added: 1_498, known: 2, bad: 0, named: [] });
  expect(batches.map(({ length }) => length)).toEqual([1_000, 500]);
  expect(batches[1]?.at(-1)).toEqual({
    id: '5 1500',
    accountId: 'a',
    email: 'r1499@x.example',
    reason: 'manual',
    source: 'import',
    note: null,
    createdAt: 5,
  });
  // 16 KiB each.
  expect(others).toBeGreaterThanOrEqual(Math.ceil(rows.length / (16 * 1_024)));
});
