/** Header fields of a message that others wrote: folds, line ends, lines that are none, and the bounds. */
import { expect, test } from 'bun:test';

import { fieldValue, MIME_LIMITS, splitMime } from '../../../src/mail/mime/tree.ts';

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
