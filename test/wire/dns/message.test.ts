/** Which packets answer a question: id, direction, question, and errors of servers that could not read it. */
import { expect, test } from 'bun:test';
import { encode, type Packet } from 'dns-packet';

import { matchAnswer, type Question } from '../../../src/wire/dns/message.ts';

const QUESTION: Question = { name: 'a.test', type: 'A' };
const ID = 4711;
const RESPONSE = 0x8000;
/** RFC 1035 section 4.1.1: the codes of a response, in its last four bits. */
const [NOERROR, FORMERR, NXDOMAIN] = [0, 1, 3];

const packet = (change: Partial<Packet> = {}): Buffer =>
  encode({
    type: 'response',
    id: ID,
    flags: 0,
    questions: [{ name: 'A.Test', type: 'A' }],
    ...change,
  });

const isMatch = (bytes: Buffer): boolean => matchAnswer(bytes, ID, QUESTION) !== null;

/** A header without a question, which is twelve octets. */
function header(code: number, flags = RESPONSE): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt16BE(ID, 0);
  bytes.writeUInt16BE(flags | code, 2);
  return bytes;
}

test('an answer to the question, in any case', () => expect(isMatch(packet())).toBe(true));

test.each([
  ['another id', packet({ id: ID + 1 })],
  ['a query', packet({ type: 'query' })],
  ['another name', packet({ questions: [{ name: 'b.test', type: 'A' }] })],
  ['a name below', packet({ questions: [{ name: 'x.a.test', type: 'A' }] })],
  ['another type', packet({ questions: [{ name: 'a.test', type: 'AAAA' }] })],
  ['another class', packet({ questions: [{ name: 'a.test', type: 'A', class: 'CH' }] })],
  [
    'two questions',
    packet({
      questions: [
        { name: 'a.test', type: 'A' },
        { name: 'a.test', type: 'A' },
      ],
    }),
  ],
  ['a notification instead of a query', packet({ flags: 4 << 11 })],
  ['a packet that is cut', packet().subarray(0, 20)],
  ['less than a header', header(FORMERR).subarray(0, 11)],
  ['nothing', Buffer.alloc(0)],
])('%s is no answer', (_, bytes) => expect(isMatch(bytes)).toBe(false));

test('a bare header counts as an error alone: some servers cannot repeat what they could not read', () => {
  expect(isMatch(header(FORMERR))).toBe(true);
  expect(isMatch(header(NOERROR))).toBe(false);
  expect(isMatch(header(NXDOMAIN))).toBe(false);
  expect(isMatch(header(FORMERR, 0))).toBe(false);
});
