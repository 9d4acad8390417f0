/** Messages that others wrote: folds, line ends, lines that are no fields, delimiters that are none, and the bounds. */
import { expect, test } from 'bun:test';

import {
  fieldValue,
  MIME_LIMITS,
  parseContentType,
  partsOf,
  splitMime,
} from '../../../src/mail/mime/tree.ts';

function read(text: string, limits = MIME_LIMITS) {
  const bytes = Buffer.from(text, 'latin1');
  const root = splitMime(bytes, limits);
  return {
    names: root.fields.map(({ name }) => name),
    value: (name: string) => fieldValue(bytes, root, name),
    body: bytes.toString('latin1', root.bodyStart, root.bodyEnd),
  };
}

test.each([
  ['CRLF', '\r\n'],
  ['LF', '\n'],
])('folds are taken out, their white space stays, with %s', (_, end) => {
  const lines = ['Subject: one', ' two', '\tthree', '   ', ' four', 'To: a@b.example', '', 'body'];
  const { names, value, body } = read(lines.join(end));
  expect(names).toEqual(['subject', 'to']);
  expect(value('subject')).toBe('one two\tthree    four');
  expect(value('to')).toBe('a@b.example');
  expect(body).toBe('body');
});

test('a fold below a line that is no field belongs to nothing', () => {
  const { names, value } = read(
    ' lost\r\nSubject: one\r\nno field\r\n two\r\nBad name: x\r\n\tthree\r\nTo: a\r\n b\r\n\r\n',
  );
  expect(names).toEqual(['subject', 'to']);
  expect(value('subject')).toBe('one');
  expect(value('to')).toBe('a b');
});

test('a field is cut at the limit, in its first line or in a fold, and nothing follows the cut', () => {
  const limits = { ...MIME_LIMITS, fieldBytes: 20 };
  const { names, value } = read(
    'A: 34567890123456789012345\r\n lost\r\nB: 3\r\n 789012345678901234\r\n lost\r\nC: 34567890123456789012345\r\n\r\n',
    limits,
  );
  expect(names).toEqual(['a', 'b', 'c']);
  expect(value('a')).toBe('34567890123456789');
  expect(value('b')).toBe('3 7890123456789');
  expect(value('c')).toBe('34567890123456789');
});

test('beyond the limit of fields the rest is dropped, folds too', () => {
  const { names, value, body } = read('A: 1\r\nB: 2\r\n 3\r\nC: 4\r\n 5\r\n\r\nbody', {
    ...MIME_LIMITS,
    fields: 2,
  });
  expect([names, value('b'), value('c'), body]).toEqual([['a', 'b'], '2 3', null, 'body']);
});

/** Each leaf of a multipart: its type and its text. */
function leaves(lines: readonly string[], end = '\r\n'): [type: string, body: string][] {
  const bytes = Buffer.from(lines.join(end), 'latin1');
  return partsOf(splitMime(bytes))
    .filter(({ children }) => children.length === 0)
    .map(({ contentType, bodyStart, bodyEnd }) => [
      contentType,
      bytes.toString('latin1', bodyStart, bodyEnd),
    ]);
}

const MIXED = 'Content-Type: multipart/mixed; boundary="b 1"';

test.each([
  ['CRLF', '\r\n'],
  ['LF', '\n'],
])('a delimiter may have blanks behind it, and takes its line end with it, with %s', (_, end) => {
  for (const blanks of ['', ' ', '\t', ' \t \t']) {
    const lines = [MIXED, '', `--b 1${blanks}`, '', 'one', '', `--b 1${blanks}`];
    lines.push('Content-Type: Text/HTML; charset=utf-8', '', 'two', `--b 1--${blanks}`, 'after');
    expect(leaves(lines, end)).toEqual([
      ['text/plain', `one${end}`],
      ['text/html', 'two'],
    ]);
  }
});

test('what only looks like a delimiter is text', () => {
  const text = ['-- ', '--b', '--b 12', '--b 1-', ' --b 1', '-b 1', '--b 1---', '--B 1'];
  expect(leaves([MIXED, '', '--b 1', '', ...text, '--b 1--'])).toEqual([
    ['text/plain', text.join('\r\n')],
  ]);
});

test('a delimiter of the multipart around ends the one inside, closed or not', () => {
  const inner = 'Content-Type: multipart/alternative; boundary=i';
  const lines = [
    MIXED,
    '',
    '--b 1',
    inner,
    '',
    '--i',
    '',
    'in',
    '--b 1',
    '',
    'out',
    '--i',
    '--b 1--',
  ];
  expect(leaves(lines)).toEqual([
    ['text/plain', 'in'],
    // The inner one is over: its delimiter is text again.
    ['text/plain', 'out\r\n--i'],
  ]);
});

test('a boundary of 200 characters is looked for, a longer one is none', () => {
  for (const [length, expected] of [
    [200, ['text/plain', 'one']],
    [201, ['multipart/mixed', `--${'x'.repeat(201)}\r\n\r\none\r\n--${'x'.repeat(201)}--`]],
  ] as const) {
    const boundary = 'x'.repeat(length);
    const head = `Content-Type: multipart/mixed; boundary=${boundary}`;
    expect(leaves([head, '', `--${boundary}`, '', 'one', `--${boundary}--`])).toEqual([
      [...expected],
    ]);
  }
});

test('twenty multiparts deep, two hundred parts and three hundred fields are read', () => {
  const multipart = (name: string): string => `Content-Type: multipart/mixed; boundary=${name}`;
  const nested = (depth: number): number => {
    const lines = Array.from({ length: depth }, (_, at) => [multipart(`b${at}`), '', `--b${at}`]);
    const bytes = Buffer.from([...lines.flat(), '', 'x'].join('\r\n'));
    return partsOf(splitMime(bytes)).length;
  };
  expect([nested(20), nested(21)]).toEqual([21, 21]);
  const parts = (count: number): [parts: number, isTold: boolean] => {
    const bytes = Buffer.from(`${multipart('b')}\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(count)}--b--`);
    let isTold = false;
    const root = splitMime(bytes, MIME_LIMITS, () => (isTold = true));
    return [partsOf(root).length, isTold];
  };
  expect([parts(199), parts(200)]).toEqual([
    [200, false],
    [200, true],
  ]);
  expect(read('X: y\r\n'.repeat(301)).names).toHaveLength(300);
  expect(read(`X: ${'y'.repeat(70_000)}\r\n\r\n`).value('x')).toHaveLength(65_536 - 3);
});

test.each([
  ['text/html', 'text/html', {}],
  [' Text/HTML ; Charset=UTF-8', 'text/html', { charset: 'UTF-8' }],
  ['a/b; x="1; y=2"; z=3', 'a/b', { x: '1; y=2', z: '3' }],
  ['a/b; x="1 \\"2\\" \\\\"', 'a/b', { x: '1 "2" \\' }],
  ['a/b; x=1; X=2', 'a/b', { x: '1' }],
  ['a/b; x = "1"', 'a/b', { x: '1' }],
  ['a/b; x=""', 'a/b', { x: '' }],
  ['a/b;x=1;y="2"', 'a/b', { x: '1', y: '2' }],
  ['a/b; x=1 ; y=2 z', 'a/b', { x: '1', y: '2' }],
  ['a/b; x="1"; y="2"', 'a/b', { x: '1', y: '2' }],
  ['a/b; x="1\\";y=2"; z=3', 'a/b', { x: '1";y=2', z: '3' }],
  ['a/b; x=; y=2', 'a/b', { y: '2' }],
  ['a/b; x*0*=1; x.y-z=2', 'a/b', { 'x*0*': '1', 'x.y-z': '2' }],
  ['A1_!#$&^.+-/b1_!#$&^.+-; x=1', 'a1_!#$&^.+-/b1_!#$&^.+-', { x: '1' }],
  ['a/; x=1', 'text/plain', { x: '1' }],
  ['/b; x=1', 'text/plain', { x: '1' }],
  ['; x=1', 'text/plain', { x: '1' }],
  ['x; text/html', 'text/plain', {}],
  [`a/b; x=${'1'.repeat(4_000)}; y=2`, 'a/b', { x: '1'.repeat(3_993) }],
  ['text', 'text/plain', {}],
  ['', 'text/plain', {}],
])('the content type %j', (value, type, parameters) => {
  const parsed = parseContentType(value);
  expect([parsed.type, Object.fromEntries(parsed.parameters)]).toEqual([type, parameters as never]);
});

test('the delimiter of a multipart that has ended is text', () => {
  const inner = 'Content-Type: multipart/alternative; boundary=i';
  const lines = [MIXED, '', '--b 1', inner, '', '--i', '', 'in', '--i--', 'epilogue', '--b 1', ''];
  const text = ['out', '--i', 'more', '--i--', 'end'];
  const wanted: [string, string][] = [
    ['text/plain', 'in'],
    ['text/plain', text.join('\r\n')],
  ];
  expect(leaves([...lines, ...text, '--b 1--'])).toEqual(wanted);
  const open = lines.filter((line) => line !== '--i--' && line !== 'epilogue');
  expect(leaves([...open, ...text, '--b 1--'])).toEqual(wanted);
});

/** The bodies of the leaves of a multipart whose boundary is `b`, each line of `lines` with its CRLF. */
function bodies(...lines: string[]): string[] {
  const head = ['Content-Type: multipart/mixed; boundary=b', '', 'preamble', '--b', ''];
  const bytes = Buffer.from([...head, ...lines].join('\r\n'), 'latin1');
  return partsOf(splitMime(bytes))
    .filter(({ children }) => children.length === 0)
    .map(({ bodyStart, bodyEnd }) => bytes.toString('latin1', bodyStart, bodyEnd));
}

test.each([
  ['--bb'],
  ['--b-'],
  ['--bxx'],
  ['--b--x'],
  ['--b---'],
  [' --b'],
  ['-b'],
  ['x--b'],
  ['--B'],
])('a line %p is no delimiter', (line) => {
  expect(bodies('one', line, 'two', '--b--', 'epilogue')).toEqual([`one\r\n${line}\r\ntwo`]);
});

test.each([['--b'], ['--b '], ['--b \t']])('a line %p begins the next part', (line) => {
  expect(bodies('one', line, '', 'two', '--b--', 'epilogue')).toEqual(['one', 'two']);
});

test.each([['--b--'], ['--b-- \t']])('a line %p ends the parts', (line) => {
  expect(bodies('one', line, 'epilogue', '--b', '', 'three')).toEqual(['one']);
});

test('a delimiter of an outer multipart ends the inner one, whose own means nothing afterwards', () => {
  const inner = ['--b', 'Content-Type: multipart/mixed; boundary=b--', '', '--b--', '', 'in'];
  // RFC 2046 section 5.1.2: the innermost open delimiter that a line can be.
  expect(bodies('one', ...inner, '--b----', '--b', '', 'last', '--b--')).toEqual([
    'one',
    'in',
    'last',
  ]);
});

/** The types and bodies of all parts but the first. */
function partsIn(head: string, ...lines: string[]): [type: string, body: string][] {
  const bytes = Buffer.from([head, '', ...lines].join('\r\n'), 'latin1');
  return partsOf(splitMime(bytes))
    .slice(1)
    .map((one) => [one.contentType, bytes.toString('latin1', one.bodyStart, one.bodyEnd)]);
}

const OF_B = 'Content-Type: multipart/mixed; boundary=b';

test('a part that is cut off in its body or its header is read as far as it goes', () => {
  expect(partsIn(OF_B, '--b', '', 'one', '--b', 'Content-Type: a/b', '', 'two')).toEqual([
    ['text/plain', 'one'],
    ['a/b', 'two'],
  ]);
  expect(partsIn(OF_B, '--b', 'Content-Type: a/b', '--b', 'Content-Type: c/d')).toEqual([
    ['a/b', ''],
    ['c/d', ''],
  ]);
  expect(splitMime(Buffer.from('Content-Type: a/b')).contentType).toBe('a/b');
});

test('a line with one dash, or what stands where a second would, is no delimiter', () => {
  expect(partsIn(OF_B, '--b', '', '-xb', '-', '-b', '--b--')).toEqual([
    ['text/plain', '-xb\r\n-\r\n-b'],
  ]);
});

test('only a multipart with a boundary has parts', () => {
  expect(partsIn('Content-Type: multipart/mixed', '--', '', 'x', '--')).toEqual([]);
  expect(partsIn('Content-Type: multipart/mixed; boundary=""', '--', '', 'x', '--')).toEqual([]);
  expect(partsIn('Content-Type: text/plain; boundary=b', '--b', '', 'x', '--b--')).toEqual([]);
  expect(partsIn('Content-Type: multipart/mixed; boundary="b "', '--b', '', 'x', '--b--')).toEqual([
    ['text/plain', 'x'],
  ]);
});

test('white space may stand before the colon, and of a repeated field the first counts', () => {
  const { value, names } = read('Subject : one\r\nSubject: two\r\n: none\r\n\r\n');
  expect([names, value('subject')]).toEqual([['subject', 'subject'], 'one']);
});

test('a field name may have 199 characters', () => {
  expect(read(`${'N'.repeat(199)}: x\r\n\r\n`).names).toEqual(['n'.repeat(199)]);
  expect(read(`${'N'.repeat(200)}: x\r\n\r\n`).names).toEqual([]);
});
