/** Decoding what others wrote: transfer encodings as they are spelled, charsets, and how much is read. */
import { expect, test } from 'bun:test';

import { decodeBody, decodeCharset, decodeText, decodeWords } from '../../../src/mail/mime/text.ts';
import { splitMime } from '../../../src/mail/mime/tree.ts';

function body(encoding: string, text: string): string {
  const bytes = Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n${text}`, 'latin1');
  return decodeBody(bytes, splitMime(bytes)).toString('latin1');
}

test.each([
  ['base64', 'YWI=', 'ab'],
  ['BASE64', 'YW\r\nI=\r\n', 'ab'],
  ['quoted-printable', 'a=3Db', 'a=b'],
  ['Quoted-Printable', 'a=3db', 'a=b'],
  ['quoted-printable', 'one =\r\ntwo', 'one two'],
  ['quoted-printable', 'one= \t\r\ntwo', 'onetwo'],
  ['quoted-printable', 'one  \t\r\ntwo', 'one\r\ntwo'],
  ['quoted-printable', 'one=20\r\ntwo', 'one \r\ntwo'],
  ['quoted-printable', 'one=\ntwo', 'onetwo'],
  ['quoted-printable', 'a=G1=', 'a=G1='],
  ['quoted-printable', '=@A=A@=:1=1:=/1=`a=ga=aF=Fa', '=@A=A@=:1=1:=/1=`a=ga\xaf\xfa'],
  ['quoted-printable', 'one\ntwo\n\n', 'one\r\ntwo\r\n\r\n'],
  ['quoted-printable', 'one\rtwo\r\r\nthree \t', 'one\rtwo\r\nthree'],
  ['quoted-printable', '=0A=09=20 \r\n=3D=', '\n\t \r\n=='],
  ['quoted-printable', 'a==\r\n= b=', 'a== b='],
  ['quoted-printable', 'a=\r\n=\r\n \r\nb=4=\r\n1', 'a\r\nb=41'],
  ['quoted-printable', 'a\xa0\xfc\x0b=\x0b\nb', 'a\xa0\xfc\x0b=\x0b\r\nb'],
  ['7bit', 'a=3Db', 'a=3Db'],
  ['8bit', 'a\xfcb', 'a\xfcb'],
  ['unknown', 'YWI=', 'YWI='],
  ['base64-like', 'YWI=', 'YWI='],
  ['x-base64', 'YWI=', 'YWI='],
  ['quoted-printable-like', 'a=3Db', 'a=3Db'],
])('%s: %j is %j', (encoding, text, decoded) => expect(body(encoding, text)).toBe(decoded));

test('of a part 262,144 bytes are read, or as many as are asked for', () => {
  const bytes = Buffer.from(`\r\n${'x'.repeat(262_145)}`);
  expect(decodeBody(bytes, splitMime(bytes))).toHaveLength(262_144);
  expect(decodeBody(bytes, splitMime(bytes), 262_145)).toHaveLength(262_145);
  expect(decodeBody(bytes, splitMime(bytes), 3).toString()).toBe('xxx');
});

test.each([
  ['utf-8', 'c3bc', 'ü'],
  [' UTF-8 ', 'c3bc', 'ü'],
  ['iso-8859-1', 'fc', 'ü'],
  ['windows-1252', '80', '€'],
  ['shift_jis', '8357', 'ジ'],
  ['klingon', 'c3bc', 'ü'],
  ['klingon', 'fc', 'ü'],
  // Bytes that are not what the charset says are read as UTF-8, else as Latin-1.
  ['us-ascii', 'c3bc', 'Ã¼'],
  ['utf-8', 'fc', 'ü'],
])('%s: %s is %s', (charset, hex, text) => {
  expect(decodeCharset(Buffer.from(hex, 'hex'), charset)).toBe(text);
});

test('a text part is read in its charset, without one in UTF-8', () => {
  const text = (type: string, content: string): string => {
    const bytes = Buffer.from(`Content-Type: ${type}\r\n\r\n${content}`, 'latin1');
    return decodeText(bytes, splitMime(bytes));
  };
  expect(text('text/plain; charset=iso-8859-1', '\xc3\xbc')).toBe('Ã¼');
  expect(text('text/plain', '\xc3\xbc')).toBe('ü');
});

test.each([
  ['=?utf-8?q?a_b=5F?=', 'a b_'],
  ['=?utf-8?Q?=c3=bC=Zz=4?=', 'ü=Zz=4'],
  ['=?UTF-8?b?w7w=?=', 'ü'],
  ['=?iso-8859-1?q?=FC?= =?utf-8?q?=C3=BC?=', 'üü'],
  ['=?utf-8?q?=C3?= =?iso-8859-1?q?=BC?=', 'Ã¼'],
  ['=?utf-8?q?=C3?= =?UTF-8?q?=BC?=', 'ü'],
  ['=?utf-8?q?a?= b =?utf-8?q?c?=', 'a b c'],
  ['a=?utf-8?q?b?=c', 'abc'],
  ['=?utf-8?q?a b?=', '=?utf-8?q?a b?='],
])('%s is %s', (value, text) => expect(decodeWords(value)).toBe(text));

test('a text part is read whole, of header text 262,144 characters', () => {
  const bytes = Buffer.from(`\r\n${'x'.repeat(262_145)}`);
  expect(decodeText(bytes, splitMime(bytes))).toHaveLength(262_145);
  expect(decodeWords('x'.repeat(262_145))).toHaveLength(262_144);
});

test.each([
  ['=?utf-8?q?a?= =?utf-8?q?b?=\r\n  =?utf-8?q?c?=', 'abc'],
  ['a =?utf-8?q??= b', 'a  b'],
  ['=?utf-8?q?a?=\t=?utf-8?q?b?=', 'ab'],
  ['=?utf-8?q?a?=x =?utf-8?q?b?=', 'ax b'],
  ['=??q?a?=', '=??q?a?='],
  ['=?ISO_8859-1:1987?q?=FC?=', 'ü'],
  ['=?iso_8859-1:1987*de-DE?q?=FC?=', 'ü'],
  ['=?utf-8*en?Q?a_b?= c', 'a b c'],
  [`=?${'x'.repeat(40)}?q?a?=`, 'a'],
  [`=?${'x'.repeat(41)}?q?a?=`, `=?${'x'.repeat(41)}?q?a?=`],
])('the header text %j is %j', (value, text) => expect(decodeWords(value)).toBe(text));
