/** `suppression import` and `export` beside a server: the pieces that travel, what is told meanwhile, and the end. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ResultOf } from '../../src/control/operations.ts';
import { CannedServer, reply } from './canned.ts';

let server: CannedServer;
beforeAll(async () => {
  server = await CannedServer.start();
});
afterAll(() => server.stop());

type Imported = ResultOf<'suppression.import'>;

const named = (from: number, to: number): Imported['named'] =>
  Array.from({ length: to - from }, (_, at) => ({
    line: from + at,
    message: `wrong ${from + at}`,
  }));

/** Imports `text` where each piece gets one of `results`. */
async function imported(text: string, results: Imported[], ...words: string[]) {
  const file = join(server.folder, 'list.csv');
  writeFileSync(file, text);
  const replies = results.map((one) => reply('suppression.import', one));
  return await server.run(['suppression', 'import', file, ...words], replies);
}

test('a long file travels in pieces of 256 KiB with the header, and their counts are summed', async () => {
  const row = `${'x'.repeat(1_000)}@x.example\n`;
  const text = `email\n${row.repeat(600)}`;
  const results: Imported[] = [
    { rows: 10, added: 1, known: 2, bad: 7, named: named(2, 9) },
    { rows: 100, added: 20, known: 30, bad: 50, named: named(300, 320) },
    { rows: 1_000, added: 400, known: 500, bad: 100, named: named(600, 620) },
  ];
  const { code, out, err, asked } = await imported(text, results, '--account', 'shop');
  const args = asked.map((one) => (one as { args: Record<string, unknown> }).args);
  expect(args.map(({ account, line }) => [account, line])).toEqual([
    ['shop', 1],
    ['shop', 261],
    ['shop', 521],
  ]);
  const pieces = args.map(({ csv }) => String(csv));
  expect(pieces.every((piece) => piece.startsWith('email\nxxx'))).toBe(true);
  expect(pieces.map((piece) => (piece.length - 6) / row.length)).toEqual([260, 260, 80]);
  expect(code).toBe(1);
  expect(out).toBe('Added: 421. Already suppressed: 532. Wrong: 157.\n');
  const wrong = [...named(2, 9), ...named(300, 313)];
  expect(err.split('\n')).toEqual([
    'Rows read: 10, added: 1',
    'Rows read: 110, added: 21',
    'Rows read: 1110, added: 421',
    ...wrong.map(({ line, message }) => `line ${line}: ${message}`),
    '',
  ]);
});

test('as JSON it is one value; without a wrong row it ends with 0', async () => {
  const none: Imported = { rows: 2, added: 1, known: 1, bad: 0, named: [] };
  const { code, out, err } = await imported('a@x.example\nb@x.example', [none], '--json');
  expect([code, JSON.parse(out), err]).toEqual([0, none, 'Rows read: 2, added: 1\n']);
});

test('an export is written as it comes', async () => {
  const chunks = ['email,reason\r\n', 'a@x.example,manual\r\n'];
  const done = await server.run(
    ['suppression', 'export', '--account', 'shop'],
    [reply('suppression.export', null, { chunks })],
  );
  expect(done).toEqual({
    code: 0,
    out: chunks.join(''),
    err: '',
    asked: [
      {
        operation: 'suppression.export',
        args: { account: 'shop' },
        by: expect.any(String) as string,
      },
    ],
  });
});
