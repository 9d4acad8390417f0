/** Values as literals of the scripting languages: a name that is no identifier is quoted. */
import { expect, test } from 'bun:test';

import { literal } from '../../../src/api/reference/literals.ts';

const VALUE = { to: ['a@example.com'], headers: { 'X-Entity-Ref-ID': '1' }, on: true, none: [] };

test('Ruby takes a plain name as a symbol and quotes any other', () => {
  expect(literal('ruby', VALUE).replaceAll(/\s+/g, ' ')).toBe(
    '{ to: [ "a@example.com", ], headers: { "X-Entity-Ref-ID": "1", }, on: true, none: [], }',
  );
});

test('Node and PHP escape every apostrophe and backslash of a text', () => {
  for (const language of ['node', 'php'] as const) {
    expect(literal(language, "it's Ann's \\d\\w")).toBe("'it\\'s Ann\\'s \\\\d\\\\w'");
  }
});
