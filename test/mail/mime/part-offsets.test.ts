/** Where parts lie: empty ones have no bytes, none reaches out of the one around it, and bytes may lie in a larger memory. */
import { expect, test } from 'bun:test';

import { hasLongLine, normalizeLines } from '../../../src/mail/mime/lines.ts';
import { readParts } from '../../../src/mail/mime/message-parts.ts';
import { fieldValue, partsOf, splitMime, type MimePart } from '../../../src/mail/mime/tree.ts';
import { seeded } from '../random.ts';

const OUTER = 'Content-Type: multipart/mixed; boundary=b';
const INNER = 'Content-Type: multipart/mixed; boundary=i';

/** The length of each part's body, parents before children. */
function lengths(...lines: string[]): number[] {
  const root = splitMime(Buffer.from([OUTER, '', ...lines].join('\r\n')));
  return partsOf(root).map(({ bodyStart, bodyEnd }) => bodyEnd - bodyStart);
}

test.each([
  ['behind its empty line', ['--b', '', '--b--'], 0],
  ['in its header', ['--b', 'A: b', '--b--'], 0],
  ['in the first line of its header', ['--b', '--b--'], 0],
  ['at the end of the message', ['--b'], 0],
  ['with its multipart still open inside', ['--b', INNER, '', '--b--'], 0],
  ['with one empty line as its body', ['--b', '', '', '--b--'], 0],
  ['with two', ['--b', '', '', '', '--b--'], 2],
])('a part that ends %s', (_, lines, length) => {
  expect(lengths(...lines).slice(1)).toEqual([length]);
});

test('parts of a multipart that ends with them have no bytes either', () => {
  // The body of the inner multipart is its delimiter alone.
  expect(lengths('--b', INNER, '', '--i', '--b--').slice(1)).toEqual(['--i\r\n'.length, 0]);
  expect(lengths('--b', INNER, '', '--i', '', '--b--').slice(1)).toEqual(['--i\r\n'.length, 0]);
});

test('an attachment without a body has a length of nought', () => {
  const lines = [OUTER, '', '--b', 'Content-Type: a/b', '', '--b', 'Content-Type: c/d', '--b--'];
  const { attachments } = readParts(Buffer.from(lines.join('\r\n')));
  expect(
    attachments.map(({ contentType, byteLength, content }) => [
      contentType,
      byteLength,
      content().length,
    ]),
  ).toEqual([
    ['a/b', 0, 0],
    ['c/d', 0, 0],
  ]);
});

const LINES = ['', '', '--b', '--b', '--b--', '--i', '--i--', OUTER, INNER, 'A: b', ' fold', 'x'];

function* within(bytes: Buffer, part: MimePart): Generator<string> {
  const { start, bodyStart, bodyEnd, fields, children } = part;
  if (start > bodyStart || bodyStart > bodyEnd || bodyEnd > bytes.length) {
    yield `${start} ${bodyStart} ${bodyEnd}`;
  }
  let from = start;
  for (const field of fields) {
    const isInside = from <= field.start && field.end <= bodyStart;
    if (!isInside || bytes[field.valueStart - 1] !== 0x3a) yield `field ${field.name}`;
    from = field.end;
  }
  let free = bodyStart;
  for (const child of children) {
    // The line end before a delimiter is the delimiter's, but for an empty part it is the empty line of its header.
    const last = child.bodyEnd === child.bodyStart ? child.start : child.bodyEnd;
    if (child.start < free || last > bodyEnd) yield `child at ${child.start}`;
    // Each begins behind a delimiter of its own.
    if (!/--[bi](?:\r?\n)?$/.test(bytes.toString('latin1', free, child.start))) {
      yield `no delimiter before ${child.start}`;
    }
    free = child.bodyEnd;
    yield* within(bytes, child);
  }
}

test('whatever the lines, parts and fields lie one behind the other inside the part around them', () => {
  let nested = 0;
  for (let seed = 50_000; seed < 52_000; seed += 1) {
    const random = seeded(seed);
    const lines = Array.from({ length: 2 + random.int(14) }, () => random.pick(LINES));
    const end = random.pick(['\r\n', '\n']);
    const bytes = Buffer.from(
      [OUTER, '', '--b', INNER, ...lines].join(end) + random.pick(['', end]),
    );
    const root = splitMime(bytes);
    expect([seed, [...within(bytes, root)]]).toEqual([seed, []]);
    if (root.children.some(({ children }) => children.length > 0)) nested += 1;
  }
  expect(nested).toBeGreaterThan(50);
});

test('bytes inside of a larger memory are read by themselves', () => {
  const text = 'Subject: one\n\nbody';
  const around = Buffer.from(`${'z'.repeat(20)}${text}${'z'.repeat(20)}`);
  const inside = new Uint8Array(around.buffer, around.byteOffset + 20, text.length);
  const root = splitMime(inside);
  expect([root.bodyStart, root.bodyEnd, fieldValue(inside, root, 'subject')]).toEqual([
    14,
    18,
    'one',
  ]);
  expect(normalizeLines(inside).toString()).toBe('Subject: one\r\n\r\nbody');
  const clean = inside.subarray(0, 7);
  expect(normalizeLines(clean).toString()).toBe('Subject');
  expect([hasLongLine(clean, 7), hasLongLine(inside, 12), hasLongLine(inside, 11)]).toEqual([
    false,
    false,
    true,
  ]);
});

test.each(['multipart-x/mixed', 'x-multipart/mixed', 'text/multipart'])(
  'what has the type %s has no parts',
  (type) => {
    const text = `Content-Type: ${type}; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b--`;
    expect(splitMime(Buffer.from(text))).toMatchObject({ contentType: type, children: [] });
  },
);

test('a value may have colons, near its name or far from it', () => {
  for (const value of ['https://x.example:80/', `${'x'.repeat(190)}: y`, ':', 'a :b']) {
    const bytes = Buffer.from(`Link: ${value}\r\n\r\n`);
    const root = splitMime(bytes);
    expect([root.fields.map(({ name }) => name), fieldValue(bytes, root, 'link')]).toEqual([
      ['link'],
      value,
    ]);
  }
});

test.each([
  ['the end of a part', ['--i', '', 'in', '--i--']],
  // The part has a header alone.
  ['a header that is cut off', ['--i', 'A: b', '--i--']],
])(
  'what stands behind %s and its multipart is no header, even if it looks like one',
  (_, inner) => {
    const lines = [OUTER, '', '--b', INNER, '', ...inner];
    for (const epilogue of [[OUTER, ''], [OUTER, '', 'x'], [OUTER], ['', OUTER, '']]) {
      const bytes = Buffer.from([...lines, ...epilogue, '--b', '', 'last', '--b--'].join('\r\n'));
      const [first, last, ...more] = splitMime(bytes).children;
      expect([first?.children.length, last?.children.length, more]).toEqual([1, 0, []]);
      expect(bytes.toString('latin1', last?.bodyStart, last?.bodyEnd)).toBe('last');
    }
  },
);
