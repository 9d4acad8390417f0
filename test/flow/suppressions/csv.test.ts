/** CSV: RFC 4180 read in chunks of any size, and written so that it reads back the same. */
import { describe, expect, test } from 'bun:test';
import { piecesWithHeader } from '../../../src/flow/suppressions/csv-import.ts';
import {
  CsvError,
  csvPieces,
  csvRow,
  fieldOf,
  readCsv,
} from '../../../src/flow/suppressions/csv.ts';

import type { CsvPiece, CsvRow } from '../../../src/flow/suppressions/csv.ts';

async function* chunked(
  bytes: Uint8Array,
  size: (at: number) => number,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const end = at + Math.max(1, size(at));
    yield bytes.subarray(at, end);
    at = end;
  }
}

async function rowsOf(text: string, size = (): number => 7): Promise<[number, string[]][]> {
  const rows: [number, string[]][] = [];
  for await (const { line, fields } of readCsv(chunked(Buffer.from(text), size))) {
    rows.push([line, fields]);
  }
  return rows;
}

test.each([
  [
    'a,b\r\nc,d\r\n',
    [
      [1, ['a', 'b']],
      [2, ['c', 'd']],
    ],
  ],
  [
    'a,b\nc,d',
    [
      [1, ['a', 'b']],
      [2, ['c', 'd']],
    ],
  ],
  [
    'a\rb\r',
    [
      [1, ['a']],
      [2, ['b']],
    ],
  ],
  ['\uFEFFa\r\n', [[1, ['a']]]],
  ['a,,\r\n', [[1, ['a', '', '']]]],
  ['\r\n\r\na\r\n\r\n', [[3, ['a']]]],
  ['""\r\n', [[1, ['']]]],
  ['"a,""b""",c\r\n', [[1, ['a,"b"', 'c']]]],
  [
    '"a\r\nb\nc"\r\nd\r\n',
    [
      [1, ['a\r\nb\nc']],
      [4, ['d']],
    ],
  ],
  ['é,💌\r\n', [[1, ['é', '💌']]]],
  ['', []],
] as [string, [number, string[]][]][])('%j', async (text, rows) => {
  for (const size of [1, 2, 3, 1_000]) expect(await rowsOf(text, () => size)).toEqual(rows);
});

test.each([
  ['a\r\n"b', 2],
  ['a\r\nb\r\n"c"d', 3],
  ['a"b', 1],
  [`"${'x'.repeat(100_000)}"`, 1],
])('refuses %j and names the line', async (text, line) => {
  const error = await rowsOf(text).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CsvError);
  expect((error as CsvError).line).toBe(line);
});

test('what is written reads back the same, however it is cut', async () => {
  const seed = Date.now() % 1_000_000;
  let state = seed + 1;
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const letters = ['a', '"', ',', '\r', '\n', ' ', 'é', '💌', ''];
  const table = Array.from({ length: 200 }, () =>
    Array.from({ length: 1 + random(4) }, () =>
      Array.from({ length: random(6) }, () => letters[random(letters.length)]).join(''),
    ),
  ).filter((fields) => fields.length > 1 || fields[0] !== '');
  const text = table.map((fields) => csvRow(fields)).join('');
  const read = await rowsOf(text, () => 1 + random(9));
  expect({ seed, rows: read.map(([, fields]) => fields.map(fieldOf)) }).toEqual({
    seed,
    rows: table,
  });
});

describe('a long text in pieces', () => {
  const rowsOf = async (text: string, line = 1): Promise<CsvRow[]> => {
    const rows: CsvRow[] = [];
    const bytes = (async function* () {
      yield Buffer.from(text);
    })();
    for await (const row of readCsv(bytes, line)) rows.push(row);
    return rows;
  };
  const FIELDS = ['a@x.example', '"b, c"', '"two\r\nlines"', '"say ""no"""', '', '"\n"'];
  const ENDS = ['\n', '\r\n', '\r', '\n\n'];
  const texts = Array.from({ length: 40 }, (_, seed) =>
    Array.from({ length: seed }, (__, at) => {
      const field = FIELDS[(seed * 7 + at * 5) % FIELDS.length] ?? '';
      return `${field},${at}${ENDS[(seed + at) % ENDS.length]}`;
    }).join(''),
  );

  test.each([1, 2, 7, 40, 1_000])(
    'of %d characters has the same rows on the same lines',
    async (length) => {
      for (const text of texts) {
        const pieces = Array.from(csvPieces(text, length));
        expect(pieces.map((piece) => piece.text).join('')).toBe(text);
        const rows = await Promise.all(pieces.map((piece) => rowsOf(piece.text, piece.line)));
        expect(rows.flat()).toEqual(await rowsOf(text));
      }
    },
  );

  test('repeats its header, and only a header', async () => {
    const piecesOf = async (text: string) => {
      const pieces: CsvPiece[] = [];
      for await (const piece of piecesWithHeader(text, 10)) pieces.push(piece);
      return pieces;
    };
    expect(await piecesOf('\nnote,email\nx,ann@a.example\ny,bob@a.example\n')).toEqual([
      { text: '\nnote,email\n', line: 1 },
      { text: 'note,email\nx,ann@a.example\n', line: 2 },
      { text: 'note,email\ny,bob@a.example\n', line: 3 },
    ]);
    expect(await piecesOf('ann@a.example\nbob@a.example')).toEqual([
      { text: 'ann@a.example\n', line: 1 },
      { text: 'bob@a.example', line: 2 },
    ]);
    expect(await piecesOf('')).toEqual([{ text: '', line: 1 }]);
  });
});

test('a file that ends within a character keeps its last row, with a sign for what is missing', async () => {
  const rows: CsvRow[] = [];
  const cut = Buffer.concat([Buffer.from('a,b\nc,d'), Buffer.of(0xc3)]);
  for await (const row of readCsv(chunked(cut, () => 3))) rows.push(row);
  expect(rows.map(({ fields }) => fields)).toEqual([
    ['a', 'b'],
    ['c', 'd\ufffd'],
  ]);
});
