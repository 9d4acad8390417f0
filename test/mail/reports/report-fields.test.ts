/** Groups of report fields: unfolding and bounds; typed addresses; where the original's header is found. */
import { expect, test } from 'bun:test';

import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import {
  fieldGroups,
  originalIn,
  readOriginal,
  typedAddress,
} from '../../../src/mail/reports/report-fields.ts';

const groups = (...lines: string[]): Record<string, string[]>[] =>
  fieldGroups(lines.join('\r\n')).map((group) => Object.fromEntries(group));

test('fields are read with any case, folds and repeats; groups end at an empty line', () => {
  expect(
    groups('', 'Name: a', '\tb', ' c', 'NAME : d', '', '', 'no field', ' of none', 'X-Y:z', ' '),
  ).toEqual([{ name: ['a b c', 'd'] }, { 'x-y': ['z'] }]);
});

test('a fold belongs to the last field, not to a line that was left out', () => {
  expect(groups('A: 1', '=bad', ' 2')).toEqual([{ a: ['1'] }]);
  expect(groups('A: 1', '', ' 2', 'B: 3')).toEqual([{ a: ['1'] }, { b: ['3'] }]);
});

test('a value may stand in the folds alone', () => {
  expect(groups('A:', ' smtp; 550', '\tno', 'B:', 'C: d')).toEqual([
    { a: ['smtp; 550 no'], b: [''], c: ['d'] },
  ]);
});

test('of a group a hundred fields are read, of a value 4,000 characters', () => {
  const many = Array.from({ length: 101 }, (_, at) => `F${at}: x`);
  const [first, second] = groups(...many, '', 'G: x');
  expect(Object.keys(first ?? {})).toHaveLength(100);
  expect(second).toEqual({ g: ['x'] });
  const after = groups('G: x', '', ...many);
  expect(after.map((group) => Object.keys(group).length)).toEqual([1, 100]);
  expect(groups(`A: ${'x'.repeat(4_001)}`)[0]?.['a']?.[0]).toHaveLength(4_000);
  expect(groups(`A: ${'x'.repeat(3_990)}`, ` ${'y'.repeat(20)}`)[0]?.['a']?.[0]).toHaveLength(
    4_000,
  );
  expect(groups(`${'N'.repeat(100)}: x`)).toHaveLength(1);
  expect(groups(`${'N'.repeat(101)}: x`)).toEqual([]);
});

test('at most 51 groups are read', () => {
  const many = Array.from({ length: 60 }, (_, at) => `F: ${at}\n`).join('\n');
  expect(fieldGroups(many)).toHaveLength(51);
});

test.each([
  ['rfc822; ann@a.example', 'ann@a.example'],
  ['RFC822;ann@a.example', 'ann@a.example'],
  ['utf-8; <zoë@a.example>', 'zoë@a.example'],
  [' ann@a.example ', 'ann@a.example'],
  ['rfc822; Ann <ann@a.example>', null],
  ['rfc822; nobody', null],
  [`${'t'.repeat(20)}; ann@a.example`, 'ann@a.example'],
  [`${'t'.repeat(21)};ann@a.example`, `${'t'.repeat(21)};ann@a.example`],
  ['ann.b;c@a.example', 'ann.b;c@a.example'],
  ['', null],
  [`${'a'.repeat(310)}@a.example`, `${'a'.repeat(310)}@a.example`],
  [`${'a'.repeat(311)}@a.example`, null],
])('the typed address %j is %j', (value, address) => {
  expect(typedAddress(value)).toBe(address);
});

test('no field is no address', () => expect(typedAddress(undefined)).toBeNull());

test.each([
  'message/rfc822',
  'message/global',
  'message/rfc822-headers',
  'message/global-headers',
  'text/rfc822-headers',
  'text/rfc822',
])('the original is read from a part of the type %s', (type) => {
  const lines = ['Content-Type: multipart/report; boundary=b', '', '--b', `Content-Type: ${type}`];
  const own = ['', 'Return-Path: <r@shop.example>', 'Message-ID: x <1@shop.example> y'];
  const message = [...lines, ...own, 'Feedback-ID: a:b:c:d', '--b--'].join('\r\n');
  expect(readOriginal(new InboundMessage(Buffer.from(message)))).toEqual({
    messageId: '<1@shop.example>',
    feedbackId: 'a:b:c:d',
    returnPath: 'r@shop.example',
  });
});

test.each([
  'text/plain',
  'message/rfc822x',
  'text/rfc822-headers2',
  'x-message/rfc822',
  'html-text/rfc822',
])('a message whose part has the type %s has no original', (type) => {
  const message = `Content-Type: ${type}\r\nMessage-ID: <1@a.example>\r\n\r\nMessage-ID: <2@a.example>`;
  expect(readOriginal(new InboundMessage(Buffer.from(message)))).toEqual({
    messageId: null,
    feedbackId: null,
    returnPath: null,
  });
});

test('a Message-ID is the first thing in angle brackets without white space', () => {
  const original = Buffer.from('Message-ID: <a b@x> <c@d> <e@f>\r\n');
  expect(originalIn(original).messageId).toBe('<c@d>');
});

test('of an original 300 fields are read, of each 4,000 bytes, of its body none', () => {
  const original = (fields: number): (string | null)[] => {
    const before = 'X: y\r\n'.repeat(fields - 1);
    const text = `${before}Return-Path: <a@x.example>\r\n\r\nMessage-ID: <x@y>\r\n`;
    const { messageId, returnPath } = originalIn(Buffer.from(text));
    return [messageId, returnPath];
  };
  expect(original(300)).toEqual([null, 'a@x.example']);
  expect(original(301)).toEqual([null, null]);
  const idOf = (length: number): string => `<${'i'.repeat(length)}>`;
  const known = [500, 501].map((length) => originalIn(Buffer.from(`Message-ID: ${idOf(length)}`)));
  expect(known.map(({ messageId }) => messageId)).toEqual([idOf(500), null]);
  const long = `Feedback-ID: ${'f'.repeat(5_000)}\r\n`;
  expect(originalIn(Buffer.from(long)).feedbackId).toBe('f'.repeat(4_000 - 'Feedback-ID: '.length));
});
