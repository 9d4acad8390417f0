/** Exported cells that a spreadsheet would run: made harmless, and read back as they were. */
import { expect, test } from 'bun:test';

import { csvRow, fieldOf, readCsv } from '../../../src/flow/suppressions/csv.ts';

const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e6));

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function readBack(text: string): Promise<string[]> {
  for await (const { fields } of readCsv(bytesOf(text))) return fields.map(fieldOf);
  return [];
}

test.each([
  '=cmd|calc!A1@x.example',
  '+1@x.example',
  '-2+3@x.example',
  '@sum',
  '\t=1',
  '\r=1',
  "'=1",
  "''=1",
  "'plain",
  "o'neil@x.example",
  'plain@x.example',
])('%j', async (field) => {
  const [cell = ''] = await readRaw(csvRow([field, 'end']));
  expect(cell).not.toMatch(/^[=+\-@\t\r]/);
  expect(await readBack(csvRow([field, 'end']))).toEqual([field, 'end']);
});

async function readRaw(text: string): Promise<string[]> {
  for await (const { fields } of readCsv(bytesOf(text))) return fields;
  return [];
}

test(`any fields come back as they were (SEED=${SEED})`, async () => {
  let state = SEED;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % below;
  };
  const alphabet = ['=', '+', '-', '@', '\t', '\r', '\n', "'", '"', ',', 'a', ' '];
  for (let round = 0; round < 2_000; round += 1) {
    const fields = Array.from({ length: 3 }, () =>
      Array.from({ length: next(6) }, () => alphabet[next(alphabet.length)]).join(''),
    );
    const row = ['start', ...fields];
    expect([round, await readBack(csvRow(row))]).toEqual([round, row]);
  }
});
