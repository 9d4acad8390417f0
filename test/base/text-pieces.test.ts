/** A long text in pieces. */
import { expect, test } from 'bun:test';

import { PIECE_CHARACTERS, textPieces } from '../../src/base/text-pieces.ts';

const utf8 = (pieces: Iterable<string>): Buffer =>
  Buffer.concat([...pieces].map((piece) => Buffer.from(piece)));

test('a short text is one piece, an empty one none', () => {
  expect([...textPieces('')]).toEqual([]);
  expect([...textPieces('a')]).toEqual(['a']);
  const whole = 'x'.repeat(PIECE_CHARACTERS);
  expect([...textPieces(whole)]).toEqual([whole]);
  expect([...textPieces(`${whole}y`)]).toEqual([whole, 'y']);
});

test('no pair is cut, also behind halves that stand alone', () => {
  const [high, low] = ['\uD83D', '\uDE00'];
  for (const around of [
    `${high}${low}`,
    `${high}${high}${low}`,
    `${high}${high}${high}${low}`,
    `${low}${high}${low}${low}`,
    `${high}x`,
    `${high}${high}`,
  ]) {
    for (let before = 0; before <= around.length; before += 1) {
      const text = `${'x'.repeat(PIECE_CHARACTERS - before)}${around}${'y'.repeat(PIECE_CHARACTERS)}`;
      const pieces = [...textPieces(text)];
      expect(pieces.join('') === text).toBe(true);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(PIECE_CHARACTERS);
      expect(utf8(pieces).equals(Buffer.from(text))).toBe(true);
    }
  }
});

test('a text that ends with a half of a pair ends', () => {
  const text = `${'x'.repeat(2 * PIECE_CHARACTERS - 1)}\uD83D`;
  expect([...textPieces(text)].map(({ length }) => length)).toEqual([
    PIECE_CHARACTERS,
    PIECE_CHARACTERS,
  ]);
});
