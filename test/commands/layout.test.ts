/**
 * Tables at 80 columns: what is long wraps, what is to be copied stays whole, and nothing is left out.
 */
import { describe, expect, test } from 'bun:test';

import { fields, paragraph, printable, table, when } from '../../src/commands/layout.ts';
import { seeded } from '../mail/random.ts';

const ID = '01a1fcbb-dbe7-7000-a3f1-41085baadf60';
const LONG_NAME =
  'returns.and.refunds.customer-care@notifications.europe.long-department.example.com';

const linesOf = (text: string): string[] => text.split('\n');
const widest = (text: string): number =>
  Math.max(...linesOf(text).map((line) => Bun.stringWidth(line)));

describe('table', () => {
  test('is as narrow as its cells, and its second lines are indented', () => {
    const shown = table(
      [['NAME', 'STATUS'], ['ID']],
      [
        [['shop', 'active'], [ID]],
        [['a', 'paused'], ['x']],
      ],
      'None.',
    );
    expect(shown).toBe(
      ['NAME  STATUS', '  ID', 'shop  active', `  ${ID}`, 'a     paused', '  x'].join('\n'),
    );
    expect(table([['NAME']], [], 'None.')).toBe('None.');
  });

  test('a line is not shown where it is empty', () => {
    const headings = [['NAME'], ['ID'], ['REASON']];
    expect(table(headings, [[['a'], ['1'], ['']]], '')).toBe('NAME\n  ID\na\n  1');
    expect(
      table(
        headings,
        [
          [['a'], ['1'], ['why']],
          [['b'], ['2'], ['']],
        ],
        '',
      ),
    ).toBe('NAME\n  ID\n  REASON\na\n  1\n  why\nb\n  2');
  });

  test('a first cell that is too long for its column gets a line of its own, unbroken', () => {
    const rows = [
      [[LONG_NAME, 'hard_bounce', '2026-11-21 03:05:15']],
      [['b@example.net', 'manual', '2026-11-21 03:05:15']],
    ];
    const lines = linesOf(table([['ADDRESS', 'REASON', 'SINCE (UTC)']], rows, ''));
    expect(lines[1]).toBe(LONG_NAME);
    expect(lines[2]).toMatch(/^ {46}  hard_bounce  2026-11-21 03:05:15$/);
    expect(lines[3]).toMatch(/^b@example\.net {33}  manual       2026-11-21 03:05:15$/);
    expect(lines).toHaveLength(4);
  });

  test('a word is broken at the last joint in its second half, not at one in the middle', () => {
    // The second column has 58 columns: what the first one, of 20, and the gap leave of 80.
    const cells = (word: string): string[] => {
      const lines = linesOf(table([['A', 'B']], [[['a'.repeat(20), word]]], ''));
      return lines.slice(1).map((line) => line.slice(22));
    };
    const [x28, x29, y40] = ['x'.repeat(28), 'x'.repeat(29), 'y'.repeat(40)];
    expect(cells(`${x28}.${y40}`)).toEqual([`${x28}.${'y'.repeat(29)}`, 'y'.repeat(11)]);
    expect(cells(`${x29}.${y40}`)).toEqual([`${x29}.`, y40]);
  });

  test('other cells are broken at blanks, else at joints, else anywhere, and nothing is lost', () => {
    const cells = [
      'first',
      'mx1.a-rather-long-host-name.europe.mail.protection.example.com',
      'a sentence of several words that does not fit',
      '鉄道'.repeat(30),
    ];
    const shown = table([['A', 'B', 'C', 'D']], [[cells]], '');
    expect(widest(shown)).toBeLessThanOrEqual(80);
    const [head = '', ...lines] = linesOf(shown);
    const starts = ['A', 'B', 'C', 'D'].map((heading) => head.indexOf(heading));
    const columns = starts.map((start, index) =>
      lines.map((line) => sliceColumns(line, start, starts[index + 1] ?? 1000)),
    );
    expect(columns[1]?.join('')).toBe(cells[1] ?? '');
    expect(columns[1]?.[0]).toEndWith('-');
    expect(columns[2]?.filter(Boolean).join(' ')).toBe(cells[2] ?? '');
    expect(columns[3]?.join('')).toBe(cells[3] ?? '');
  });

  test('what fits in 80 columns to the last one stays in its line, and one more does not', () => {
    const shown = (first: number, ...others: number[]): string[] =>
      linesOf(table([['A', 'B', 'C']], [[[first, ...others].map((at) => 'x'.repeat(at))]], ''))
        .slice(1)
        .map((line) => line.replaceAll(/x+/g, (run) => String(run.length)));
    expect(shown(30, 23, 23)).toEqual(['30  23  23']);
    // The first column may take what the others leave, and is never narrower than 20 for them.
    expect(shown(31, 23, 23)).toEqual(['31', `${' '.repeat(30)}  23  23`]);
    expect(shown(20, 28, 28)).toEqual(['20  28  28']);
    expect(shown(20, 28, 29)).toEqual(['20  28  28', `${' '.repeat(52)}1`]);
    expect(shown(21, 29, 28)).toEqual(['21', `${' '.repeat(22)}28  28`, `${' '.repeat(22)}1`]);
    expect(shown(81, 0, 0)).toEqual(['81']);
    expect(
      linesOf(table([['A'], ['B', 'C']], [[['a'], ['x'.repeat(40), 'y'.repeat(36)]]], ''))[3],
    ).toBe(`  ${'x'.repeat(40)}  ${'y'.repeat(36)}`);
  });

  test('a joint counts in the second half of a line only', () => {
    const broken = (word: string): string[] =>
      linesOf(table([['A', 'B']], [[['x'.repeat(20), word]]], ''))
        .slice(1)
        .map((line) => line.slice(20).trim());
    // 58 columns are left beside the first one.
    const [late, early] = [`${'a'.repeat(40)}.${'b'.repeat(40)}`, `a.${'b'.repeat(80)}`];
    expect(broken(late)).toEqual([`${'a'.repeat(40)}.`, 'b'.repeat(40)]);
    expect(broken(early)).toEqual([`a.${'b'.repeat(56)}`, 'b'.repeat(24)]);
  });

  test.each(['@', '.', '/', ':', '_', '-'])('a word is broken behind %s', (joint) => {
    const [head, tail] = [`${'a'.repeat(40)}${joint}`, 'b'.repeat(40)];
    const shown = table([['A', 'B']], [[['x'.repeat(20), head + tail]]], '');
    expect(
      linesOf(shown)
        .slice(1)
        .map((line) => line.slice(20).trim()),
    ).toEqual([head, tail]);
  });

  test('a letter that is wider than its column stands there all the same', () => {
    const cells = ['x'.repeat(20), ...Array.from({ length: 20 }, () => '鉄')];
    const headings = cells.map(() => 'H');
    const lines = linesOf(table([headings], [[cells]], ''));
    expect(lines.join('').match(/鉄/g)).toHaveLength(20);
  });

  test('with random cells: columns stay apart and within 80, and first cells are unbroken', () => {
    const seed = Math.floor(Math.random() * 1e9);
    const random = seeded(seed);
    const below = (max: number): number => random.int(max);
    const word = (max: number): string =>
      'abcdefgh-.@ü鉄 '.repeat(20).slice(below(9)).slice(0, below(max));
    for (let round = 0; round < 300; round += 1) {
      const columns = 1 + below(5);
      const headings = [Array.from({ length: columns }, (_, at) => `H${at}`), ['ID']];
      const rows = Array.from({ length: 1 + below(4) }, () => [
        Array.from({ length: columns }, (_, at) => word(at === 0 ? 70 : 90)),
        [ID],
      ]);
      const shown = table(headings, rows, '');
      const where = `seed ${seed}, round ${round}:\n${shown}`;
      for (const line of linesOf(shown)) {
        const isWide = Bun.stringWidth(line) > 80;
        if (isWide) throw new Error(`too wide, ${where}`);
      }
      const ids = linesOf(shown).filter((line) => line === `  ${ID}`);
      if (ids.length !== rows.length) throw new Error(`an id is not whole, ${where}`);
      const letters = (text: string): string =>
        Array.from(text.replaceAll(/[\sH0-9ID]/g, ''))
          .toSorted()
          .join('');
      const said = letters(rows.flatMap(([cells]) => cells ?? []).join(''));
      if (letters(shown.replaceAll(ID, '')) !== said)
        throw new Error(`something is lost, ${where}`);
    }
  });

  test('text of other parties cannot move the cursor or reverse the line', () => {
    const shown = table([['REPLY']], [[['550 \u001b[2J\u009b31m\u202egone\r\nnext\u2028x']]], '');
    expect(shown).toBe('REPLY\n550  [2J 31m gone next x');
    const ends = [0x1f, 0x20, 0x7e, 0x7f, 0x9f, 0xa0, 0x2027, 0x2028, 0x202e, 0x202f];
    const isolates = [0x2065, 0x2066, 0x2069, 0x206a];
    const kept = [...ends, ...isolates].filter((code) => {
      const text = `a${String.fromCharCode(code)}b`;
      return printable(text) === text;
    });
    expect(kept).toEqual([0x20, 0x7e, 0xa0, 0x2027, 0x202f, 0x2065, 0x206a]);
    expect(printable(' \u0000a\u0001\u0002b\u0085')).toBe('a b');
  });
});

describe('fields and paragraphs', () => {
  test('long values continue below their beginning', () => {
    const shown = fields([
      ['message', ID],
      ['subject', 'words and more words '.repeat(8).trim()],
      ['Message-ID', `<${'x'.repeat(90)}@example.com>`],
    ]);
    const lines = linesOf(shown);
    expect(lines[0]).toBe(`message     ${ID}`);
    expect(lines[2]).toMatch(/^ {12}\S/);
    expect(lines.at(-1)).toBe(`Message-ID  <${'x'.repeat(90)}@example.com>`);
    expect(widest(lines.slice(0, -1).join('\n'))).toBeLessThanOrEqual(80);
  });

  test('values begin in one column, two blanks behind the widest name', () => {
    expect(
      fields([
        ['a', '1'],
        ['鉄道', '2\u0007\n3 '],
      ]),
    ).toBe('a     1\n鉄道  2 3');
    expect(fields([['whole', 'x'.repeat(73)]])).toBe(`whole  ${'x'.repeat(73)}`);
    const [left, right] = ['x'.repeat(36), 'y'.repeat(36)];
    expect(fields([['whole', `${left} ${right}`]])).toBe(`whole  ${left} ${right}`);
    expect(fields([['whole', `${left}x ${right}`]])).toBe(`whole  ${left}x\n       ${right}`);
  });

  test('times are in UTC to the second, a dash where there is none', () => {
    expect([when(null), when(0), when(Date.parse('2026-11-21T03:05:15.999Z'))]).toEqual([
      '-',
      '1970-01-01 00:00:00',
      '2026-11-21 03:05:15',
    ]);
  });

  test('are broken at blanks only', () => {
    const url = `https://example.com/${'path/'.repeat(20)}`;
    expect(linesOf(paragraph(`See ${url} for more.`, 2))).toEqual([
      'See',
      `  ${url}`,
      '  for more.',
    ]);
    expect(paragraph('')).toBe('');
  });

  test('a line ends where its letters, which may be two columns wide, would pass 80', () => {
    const word = '鉄'.repeat(13);
    expect(paragraph([word, word, word].join(' '))).toBe(`${word} ${word} ${word}`);
    const longer = `${word}道`;
    expect(paragraph([longer, word, word].join(' '))).toBe(`${longer} ${word}\n${word}`);
  });

  test('a paragraph fills 80 columns, and begins each line at the left unless told otherwise', () => {
    const [left, right] = ['x'.repeat(39), 'y'.repeat(40)];
    expect(paragraph(`${left} ${right}`)).toBe(`${left} ${right}`);
    expect(paragraph(`${left} ${right}y`)).toBe(`${left}\n${right}y`);
    expect(paragraph(`${left} ${right}`, 1)).toBe(`${left}\n ${right}`);
  });
});

/** The part of a line between two columns of the terminal, without the blanks around it. */
function sliceColumns(line: string, from: number, to: number): string {
  let at = 0;
  let part = '';
  for (const character of line) {
    if (at >= from && at < to) part += character;
    at += Bun.stringWidth(character);
  }
  return part.trim();
}
