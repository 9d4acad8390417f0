/** A response with long texts is written in pieces: the same JSON, no piece too long, no character cut in two. */
import { expect, test } from 'bun:test';

import { LargeJson } from '../../src/api/large-json.ts';
import { seeded } from '../mail/random.ts';

const PIECE = 131_072;
const LONG = 'x'.repeat(300_000);

/** The pieces of the JSON; null where it is not written in pieces. */
const piecesOf = (body: object): string[] | null => {
  const json = LargeJson.of(body);
  return json === null ? null : Array.from(json.pieces());
};

test.each([
  ['alone', { html: LONG }],
  ['first', { html: LONG, text: null, tags: [{ name: 'a', value: 'b' }] }],
  ['last', { id: '1', none: undefined, html: LONG }],
  ['between', { id: '1', html: LONG, events: [], size: 7 }],
  ['one after the other', { a: LONG, b: LONG, '"': LONG, c: undefined }],
  ['with what has to be escaped', { html: '"\\\n\0ü\u2028<'.repeat(60_000), text: 'é"' }],
  ['with half a character', { html: `${'\ud83d'.repeat(200_000)}x\ude00${LONG}` }],
])('a long text %s', (_, body) => {
  const pieces = piecesOf(body);
  expect(pieces?.join('') === JSON.stringify(body)).toBe(true);
  expect(pieces?.length).toBeGreaterThan(2);
});

test('a character of two halves is never cut, wherever it stands', () => {
  for (let before = 0; before < 3; before += 1) {
    const html = 'x'.repeat(before) + '\u{1f600}'.repeat(200_000);
    const pieces = piecesOf({ html }) ?? [];
    expect(pieces.join('') === JSON.stringify({ html })).toBe(true);
    for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(PIECE + 1);
  }
});

test('any text comes out as JSON has it (seed 518)', () => {
  const random = seeded(518);
  for (let run = 0; run < 20; run += 1) {
    const units = Array.from({ length: 1_000 }, () => random.int(0x1_00_00));
    const html = String.fromCharCode(...units).repeat(270 + random.int(200));
    expect(piecesOf({ id: run, html })?.join('') === JSON.stringify({ id: run, html })).toBe(true);
  }
});

test('it is only for texts that are large together', () => {
  const of = (length: number): string => 'x'.repeat(length);
  expect(piecesOf({ a: of(2 * PIECE) })).toBeNull();
  expect(piecesOf({ a: of(2 * PIECE + 1) })).not.toBeNull();
  expect(piecesOf({ a: of(PIECE + 1), b: of(PIECE) })).toBeNull();
  expect(piecesOf({ a: of(PIECE + 1), b: of(PIECE + 1) })).not.toBeNull();
  const body = { a: of(PIECE + 1), b: of(PIECE + 2), c: 'x' };
  expect(LargeJson.of(body)?.length).toBe(JSON.stringify(body).length);
  for (const other of [[LONG], { data: [LONG] }, new Uint8Array(300_000), {}]) {
    expect(piecesOf(other)).toBeNull();
  }
});
