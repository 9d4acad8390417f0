/** The line of each key, wherever TOML lets it be. */
import { describe, expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { findKeyLines, lineOf } from '../../src/base/config-lines.ts';
import { defaultConfigText } from '../../src/base/config-text.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { seeded } from '../mail/random.ts';

describe('the line of', () => {
  test.each([
    ['a key at the top', 'a = 1\nb = 2', 'b', 2],
    ['a table', '\n\n[t]\na = 1', 't', 3],
    ['a key in a table', '[t]\n\na = 1', 't.a', 3],
    ['a key of a row', '[[t]]\na = 1\n[[t]]\na = 2', 't[1].a', 4],
    ['a table below a row', '[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2', 't[1].u.a', 6],
    ['a dotted key', 't.u.a = 1\nt.u.b = 2', 't.u.b', 2],
    ['the table of a dotted key', 'x = 1\nt.u = 2', 't', 2],
    ['the table of two dotted keys: the first', 'x = 1\nt.u = 2\nt.v = 3', 't', 2],
    ['an item that is not there: its list', 'x = 1\na = [\n  1 ]', 'a[5]', 2],
    ['a key in an inline table over lines', 't = {\n  a = 1,\n  b = 2 }', 't.b', 3],
    ['a row written as an inline table', 't = [\n  { a = 1 },\n  { a = 2 } ]', 't[1].a', 3],
    ['an item of a list', 'a = [\n  1, # one\n  2,\n]', 'a[1]', 3],
    ['a quoted key', 'x = 1\n"a b" = 2', 'a b', 2],
    ['a key behind brackets in a text', 'x = """\n[t]\na = 1\n"""\na = 2', 'a', 5],
    ['a key that is not there: its table', 'x = 1\n[t]', 't.a', 2],
    ['nothing', 'x = 1', 'a', 1],
    ['a row that is not there: its table', 'x = 1\n[t]\na = 1', 't.u[2].v', 2],
    ['what is deep in a table: the nearest around it', 'x = 1\n[t.u]\na = 1', 't.u.v.w', 2],
    ['a key behind a byte order mark', '\uFEFFx = 1\na = 2', 'a', 2],
  ])('%s', (_, toml, path, line) => {
    expect(lineOf(findKeyLines(toml), path)).toBe(line);
  });
});

test('the item of a list that is wrong, not where the list begins', () => {
  const toml =
    'hostname = "a.example"\n[delivery]\nsource_addresses = [\n  "192.0.2.1",\n  "x",\n]';
  expect(() => parseConfig(toml, 'f')).toThrow('f:5: delivery.source_addresses item 2 must be an');
  const first = toml.replace('"192.0.2.1"', '"y"').replace('  "x",\n', '');
  expect(() => parseConfig(first, 'f')).toThrow('f:4: delivery.source_addresses item 1 must be an');
});

test('every line of the written file: the refusal names the line that is wrong', () => {
  const lines = defaultConfigText('mail.example.com', '/srv/p').split('\n');
  for (const [index, line] of lines.entries()) {
    if (!/^[a-z_0-9]+ = /.test(line)) continue;
    // No key takes a date.
    const toml = lines.with(index, line.replace(/= .*/, '= 2026-11-22')).join('\n');
    expect(refusalOf(toml)).toStartWith(`f:${index + 1}: `);
  }
});

test('what Bun parses has lines, however it was changed', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9);
  const random = seeded(seed);
  const text = `${defaultConfigText('mail.example.com', '/srv/p')}
[[plans]]
"id" = 'a'
more = { a = 1, b.c = [ 1.5, true, 07:32:00 ] }
`.replaceAll(/^#.*\n/gm, '');
  const signs = Array.from('=[]{}"\'#.,\n\r\t \\_-+019aexinfu:TZ\u0000é\uFEFF');
  for (let round = 0; round < 2_000; round += 1) {
    const at = random.int(text.length);
    const sign = random.pick(signs);
    const changed = text.slice(0, at) + sign + text.slice(at + random.int(2));
    if (parses(changed)) {
      expect([seed, changed, linesOrError(changed)]).toEqual([seed, changed, expect.any(Map)]);
    }
  }
});

function parses(toml: string): boolean {
  try {
    Bun.TOML.parse(toml);
    return true;
  } catch {
    return false;
  }
}

function linesOrError(toml: string): unknown {
  try {
    return findKeyLines(toml);
  } catch (error) {
    return error;
  }
}

function refusalOf(toml: string): string {
  try {
    parseConfig(toml, 'f');
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
  return `accepted: ${toml}`;
}
