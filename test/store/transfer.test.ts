/** What a transfer promises whatever the engines are: nothing left out by oversight, and nothing settled that differs. */
import { describe, expect, test } from 'bun:test';

import { OperatorError } from '../../src/base/errors.ts';
import {
  fieldText,
  fieldValue,
  piecesOf,
  rowsIn,
  wholeLines,
} from '../../src/store/transfer-lines.ts';
import type { Field } from '../../src/store/transfer-lines.ts';
import { transfer } from '../../src/store/transfer-run.ts';
import { planTransfer } from '../../src/store/transfer-tables.ts';
import type { Catalog, Lines, TransferSource, TransferTarget } from '../../src/store/transfer.ts';

const TABLES =
  'settings accounts api_keys operators audit domains dkim_keys endpoints ' +
  'messages bodies attachments recipients queue attempts events calls ' +
  'call_responses call_attempts suppressions confirmed_recipients idempotency usage_days status_days stored_bytes ' +
  'outcome_hours harm_hours logs';

const catalog = (): Record<string, Record<string, 'text'>> =>
  Object.fromEntries(TABLES.split(' ').map((name) => [name, { id: 'text', name: 'text' }]));

const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  );

async function* once(pieces: Iterable<Lines>): AsyncGenerator<Lines> {
  yield* pieces;
}

/** Two sides whose only rows are those of `accounts`. */
function sides({ written = (lines: string[]) => lines, isQuiet = true } = {}): {
  source: TransferSource;
  target: TransferTarget;
  seen: string[];
} {
  const seen: string[] = [];
  let stored: string[] = [];
  // Each row comes in a piece of its own.
  const read = (name: string, lines: string[]): AsyncGenerator<Lines> =>
    once(name === 'accounts' ? lines.flatMap((line) => [...piecesOf([line])]) : []);
  const source: TransferSource = {
    catalog: () => Promise.resolve<Catalog>(catalog()),
    count: () => Promise.resolve(2),
    read: ({ name }) => read(name, ['1\tann', '2\tbob']),
    setting: () => Promise.resolve(null),
    checkQuiet: () => (isQuiet ? Promise.resolve() : Promise.reject(new Error('not quiet'))),
    close: () => Promise.resolve(),
  };
  const target: TransferTarget = {
    catalog: () => Promise.resolve<Catalog>(catalog()),
    count: () => Promise.resolve(0),
    read: ({ name }) => read(name, stored),
    begin: async () => void seen.push('begin'),
    async write({ name }, pieces) {
      const lines: string[] = [];
      for await (const piece of pieces) {
        for (const fields of rowsIn(piece)) lines.push(fields.join('\t'));
      }
      if (name === 'accounts') stored = written(lines);
    },
    complete: async () => void seen.push('complete'),
    settle: async () => void seen.push('settle'),
    close: () => Promise.resolve(),
  };
  return { source, target, seen };
}

describe('what is carried', () => {
  test('every table has an order, and columns come in one order from either side', () => {
    const one = { ...catalog(), accounts: { name: 'text', id: null } } as const;
    const [, accounts] = planTransfer(one, catalog());
    expect(accounts).toEqual({
      name: 'accounts',
      key: ['id'],
      columns: [
        { name: 'id', kind: 'text' },
        { name: 'name', kind: 'text' },
      ],
    });
    expect(planTransfer(catalog(), one)[1]).toEqual(accounts);
    const logs = { id: 'text', name: null } as const;
    expect(() => planTransfer({ ...catalog(), logs }, { ...catalog(), logs })).toThrow(
      'no side knows logs.name',
    );
  });

  test.each([
    ['a table that nobody has thought of', { paints: { id: 'text' } }, 'paints'],
    ['a column of one side', { logs: { id: 'text', name: 'text', ink: 'text' } }, 'logs.ink'],
    ['a column that one side lacks', { logs: { id: 'text' } }, 'logs.name'],
  ] as const)('%s ends it before anything is written', (_, change, named) => {
    const changed = { ...catalog(), ...change };
    expect(() => planTransfer(changed, catalog())).toThrow(named);
    expect(() => planTransfer(catalog(), changed)).toThrow(named);
  });

  test('all that nobody has thought of is named at once, with what to do', () => {
    const { logs: _, ...rest } = catalog();
    const audit = { id: 'text', name: 'text', ink: 'text' } as const;
    const one: Catalog = { ...rest, ponds: { id: 'text' }, audit };
    const two: Catalog = { ...catalog(), paints: { id: 'text' }, audit: { name: 'text' } };
    expect(() => planTransfer(one, two)).toThrow(
      expect.objectContaining({
        message:
          'This release does not know how to carry over: ponds, paints, audit.id, audit.ink, logs',
        hint: 'Run the newest release on both sides. A database for Postrider must hold no tables of other programs.',
      }),
    );
  });
});

describe('comparing', () => {
  const told = (error: unknown): unknown =>
    error instanceof OperatorError ? [error.message, error.hint] : error;

  test('what is the same is settled, after it was read again', async () => {
    const { source, target, seen } = sides();
    const steps: string[] = [];
    const write = target.write.bind(target);
    target.write = (table, pieces) => {
      const noted = async function* (): AsyncGenerator<Lines> {
        for await (const piece of pieces) {
          yield piece;
          steps.push(`wrote ${piece.rows}`);
        }
      };
      return write(table, noted());
    };
    const carried = await transfer(source, target, ({ step, table, rows, of }) => {
      steps.push(`${step} ${table} ${rows} of ${of}`);
    });
    expect(seen).toEqual(['begin', 'complete', 'settle']);
    // What is told of a piece has been written.
    expect(steps).toEqual([
      'wrote 1',
      'copy accounts 1 of 2',
      'wrote 1',
      'copy accounts 2 of 2',
      'compare accounts 1 of 2',
      'compare accounts 2 of 2',
    ]);
    expect(carried.find(({ table }) => table === 'accounts')).toEqual({
      table: 'accounts',
      rows: 2,
      // printf '1\tann\n2\tbob\n' | sha256sum
      sha256: '6b2924e69ea4fd1e3b2180d77d4900c6ad2b3e6d5d61b88b5290dc882854fe2c',
    });
  });

  test.each([
    ['a changed field', (lines: string[]) => lines.map((line) => line.replace('bob', 'rob'))],
    ['a row that is missing', (lines: string[]) => lines.slice(1)],
    ['a row too many', (lines: string[]) => [...lines, '3\tcy']],
    ['another order', (lines: string[]) => lines.toReversed()],
  ])('%s is not settled', async (_, written) => {
    const { source, target, seen } = sides({ written });
    expect(await failure(transfer(source, target, () => undefined))).toMatch(/not the same/);
    expect(seen).toEqual(['begin', 'complete']);
  });

  test('says how many rows of what hash each side has, and what to do', async () => {
    const { source, target } = sides({ written: (lines) => lines.slice(1) });
    expect(await transfer(source, target, () => undefined).catch(told)).toEqual([
      'The table accounts is not the same on both sides:' +
        ' 2 rows with hash 6b2924e69ea4fd1e3b2180d77d4900c6ad2b3e6d5d61b88b5290dc882854fe2c,' +
        // printf '2\tbob\n' | sha256sum
        ' then 1 with 7909239448469dcc6d1749cee80e6c7658775302f54b40b5f91890f50a6cc84f',
      'Nothing was changed on the side that was read. Check disk and memory of both machines, and run it again.',
    ]);
  });

  test('a source that was opened meanwhile is not settled', async () => {
    const { source, target, seen } = sides({ isQuiet: false });
    expect(await failure(transfer(source, target, () => undefined))).toMatch(/not quiet/);
    expect(seen).not.toContain('settle');
  });
});

describe('lines', () => {
  const fields: [Field, 'text' | 'number' | 'flag' | 'bytes', string][] = [
    [null, 'text', '\\N'],
    ['\\N', 'text', '\\\\N'],
    ['', 'text', ''],
    ['a\tb\nc\rd\be\ff\vg\\h', 'text', 'a\\tb\\nc\\rd\\be\\ff\\vg\\\\h'],
    ['ü🐎\u2028', 'text', 'ü🐎\u2028'],
    [-9_007_199_254_740_991, 'number', '-9007199254740991'],
    [1, 'flag', 't'],
    [0, 'flag', 'f'],
    [Buffer.of(0, 255, 10), 'bytes', '\\\\x00ff0a'],
    [Buffer.alloc(0), 'bytes', '\\\\x'],
  ];

  test('fields are written as COPY writes them, and read back', () => {
    for (const [value, kind, text] of fields) {
      expect(fieldText(value, kind)).toBe(text);
      expect(fieldValue(text, kind)).toEqual(value);
    }
    expect(fieldText('a\0b', 'text')).toBe('a\uFFFDb');
  });

  test('whole lines come out of chunks of any size, also within a character', async () => {
    const lines = Array.from({ length: 300 }, (_, at) => `${at}\t${'ü🐎'.repeat(at * 7)}\\n`);
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    for (const size of [7, 1_000, 300_000, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const found: string[] = [];
      let rows = 0;
      for await (const piece of wholeLines(chunked(chunks))) {
        rows += piece.rows;
        for (const row of rowsIn(piece)) found.push(row.join('\t'));
      }
      expect([rows, found.length]).toEqual([300, 300]);
      expect(found).toEqual(lines);
    }
    const cut = wholeLines(chunked([bytes.subarray(0, -1)]));
    expect(await failure(Array.fromAsync(cut))).toMatch(/cut off/);
  });

  test('pieces are bounded, and hold whole lines', () => {
    const pieces = [...piecesOf(Array.from({ length: 5_000 }, () => 'x'.repeat(1_000)))];
    expect(pieces.length).toBeGreaterThan(10);
    for (const { bytes } of pieces) expect(bytes.length).toBeLessThan(300 * 1024);
    expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(5_000);
  });

  test('a piece ends with the line that makes it 256 KiB, and no earlier', async () => {
    const size = 256 * 1024;
    const shapeOf = ({ bytes, rows }: Lines) => [bytes.length, rows];
    const made = (...lengths: number[]) =>
      Array.from(piecesOf(lengths.map((length) => 'x'.repeat(length))), shapeOf);
    expect(made(size - 1, 1)).toEqual([
      [size, 1],
      [2, 1],
    ]);
    expect(made(size - 2, 1, 1)).toEqual([
      [size + 1, 2],
      [2, 1],
    ]);
    expect(made(size - 1)).toEqual([[size, 1]]);
    expect(made()).toEqual([]);
    const cut = async (...texts: string[]) =>
      (await Array.fromAsync(wholeLines(chunked(texts.map((text) => Buffer.from(text)))))).map(
        shapeOf,
      );
    const long = (length: number) => `${'x'.repeat(length - 1)}\n`;
    expect(await cut(long(size), 'y\n')).toEqual([
      [size, 1],
      [2, 1],
    ]);
    expect(await cut(long(size - 1), 'y\n')).toEqual([[size + 1, 2]]);
    // A chunk without an end of line waits for one; what stands behind it counts for the next piece.
    expect(await cut('x'.repeat(size), `x\nyy`, long(size - 2), 'z\n')).toEqual([
      [size + 2, 1],
      [size, 1],
      [2, 1],
    ]);
    expect(await cut()).toEqual([]);
  });
});

async function* chunked(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
