/** Which packets answer a question: id, direction, question, and errors of servers that could not read it. */
import { describe, expect, test } from 'bun:test';
import { decode, encode, type Packet } from 'dns-packet';

import {
  encodeQuestion,
  matchAnswer,
  normalizeName,
  readAnswer,
  type Question,
  type RawAnswer,
} from '../../../src/wire/dns/message.ts';

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

describe('a question', () => {
  test.each([true, false])(
    'has its id, wants recursion and DNSSEC results; EDNS: %p',
    (hasEdns) => {
      const read = decode(encodeQuestion(ID, QUESTION, hasEdns));
      expect(read).toMatchObject({ type: 'query', id: ID, flag_rd: true, flag_ad: true });
      expect(read.questions).toEqual([{ name: 'a.test', type: 'A', class: 'IN' }]);
      const sizes = (read.additionals ?? []).map(
        (one) => 'udpPayloadSize' in one && one.udpPayloadSize,
      );
      expect(sizes).toEqual(hasEdns ? [1_232] : []);
    },
  );

  test('of the root is a dot', () => {
    const read = decode(encodeQuestion(ID, { name: '', type: 'A' }, false));
    expect(read.questions?.[0]?.name).toBe('.');
  });
});

test.each([
  ['A.Test.', 'a.test'],
  ['a.test', 'a.test'],
  ['.', ''],
  ['', ''],
  ['_25._tcp.a.test', '_25._tcp.a.test'],
  [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`],
  [`${'a'.repeat(64)}.test`, null],
  [`${`${'a'.repeat(62)}.`.repeat(4)}a`, `${`${'a'.repeat(62)}.`.repeat(4)}a`],
  [`${`${'a'.repeat(62)}.`.repeat(4)}ab`, null],
  ['a..test', null],
  ['a b.test', null],
  ['ä.test', null],
  ['a\\.test', null],
])('the name %j is %j', (name, normal) => expect(normalizeName(name)).toBe(normal));

describe('an answer', () => {
  type Answers = NonNullable<Packet['answers']>;
  const soa = (ttl: number, minimum: number): Answers[0] => ({
    name: 'test',
    type: 'SOA',
    ttl,
    data: {
      mname: 'ns.test',
      rname: 'x.test',
      serial: 1,
      refresh: 1,
      retry: 1,
      expire: 1,
      minimum,
    },
  });
  const a = (name: string, ttl: number, data: string): Answers[0] => ({
    name,
    type: 'A',
    ttl,
    data,
  });
  const alias = (name: string, ttl: number, data: string): Answers[0] => ({
    name,
    type: 'CNAME',
    ttl,
    data,
  });
  const read = (change: Partial<Packet>, question: Question = QUESTION): RawAnswer => {
    const bytes = packet({ questions: [question], ...change });
    const matched = matchAnswer(bytes, ID, question);
    if (matched === null) throw new Error('no match');
    return readAnswer(matched, question, bytes.length);
  };
  const AD = 0x20;

  test.each([
    [
      'records: the shortest time counts',
      { answers: [a('a.test', 300, '192.0.2.1'), a('A.TEST', 60, '192.0.2.2')] },
      { kind: 'found', data: ['192.0.2.1', '192.0.2.2'], ttlSeconds: 60, isAuthenticData: false },
    ],
    [
      'validated records',
      { flags: AD, answers: [a('a.test', 300, '192.0.2.1')] },
      { kind: 'found', isAuthenticData: true },
    ],
    [
      'records of another name do not count',
      { answers: [a('b.test', 300, '192.0.2.1')] },
      { kind: 'nodata' },
    ],
    ['none, with its time', { authorities: [soa(300, 60)] }, { kind: 'nodata', ttlSeconds: 60 }],
    ['none, by the record', { authorities: [soa(30, 600)] }, { kind: 'nodata', ttlSeconds: 30 }],
    ['none, without a time', {}, { kind: 'nodata', ttlSeconds: 0 }],
    [
      'no such name',
      { flags: NXDOMAIN, authorities: [soa(300, 90)] },
      { kind: 'nxdomain', ttlSeconds: 90 },
    ],
    ['a failing server', { flags: 2 }, { kind: 'failed', reason: 'SERVFAIL' }],
    ['a refusal', { flags: 5 }, { kind: 'failed', reason: 'REFUSED' }],
    [
      'an alias with what it leads to: the shortest time counts',
      { answers: [alias('a.test', 40, 'B.test'), a('b.test', 300, '192.0.2.1')] },
      { kind: 'found', data: ['192.0.2.1'], ttlSeconds: 40 },
    ],
    [
      'an alias alone is asked on',
      { answers: [alias('a.test', 40, 'b.test')] },
      { kind: 'alias', name: 'b.test', ttlSeconds: 40 },
    ],
    [
      'an alias to a name without the record',
      { answers: [alias('a.test', 400, 'b.test')], authorities: [soa(300, 60)] },
      { kind: 'nodata', ttlSeconds: 60 },
    ],
    [
      'an alias to no name',
      { flags: NXDOMAIN, answers: [alias('a.test', 400, 'b.test')] },
      { kind: 'nxdomain' },
    ],
    [
      'a circle of aliases',
      { answers: [alias('a.test', 40, 'b.test'), alias('b.test', 40, 'a.test')] },
      { kind: 'failed', reason: 'alias chain too long' },
    ],
  ])('%s', (_, change, expected) => {
    expect(read(change as Partial<Packet>)).toMatchObject(expected);
  });

  test('eight aliases are followed, not nine', () => {
    const chain = (length: number): Answers => [
      ...Array.from({ length }, (_, at) =>
        alias(at === 0 ? 'a.test' : `n${at}.test`, 60, `n${at + 1}.test`),
      ),
      a(`n${length}.test`, 60, '192.0.2.1'),
    ];
    expect(read({ answers: chain(8) })).toMatchObject({ kind: 'found' });
    expect(read({ answers: chain(9) })).toMatchObject({ kind: 'failed' });
  });

  test('a question about an alias is answered by it', () => {
    const answers = [alias('a.test', 40, 'b.test'), alias('b.test', 40, 'c.test')];
    expect(read({ answers }, { name: 'a.test', type: 'CNAME' })).toMatchObject({
      kind: 'found',
      data: ['b.test'],
    });
    expect(read({ answers }, { name: 'c.test', type: 'CNAME' })).toMatchObject({ kind: 'nodata' });
  });

  test('a record without a time must not be kept', () => {
    const bare = (answers: object[], authorities: object[] = []): RawAnswer =>
      readAnswer({ rcode: 'NOERROR', flag_ad: false, answers, authorities } as never, QUESTION, 40);
    const record = { name: 'a.test', type: 'A', class: 'IN', data: '192.0.2.1' };
    expect(bare([record, { ...record, ttl: 60 }])).toEqual({
      kind: 'found',
      data: ['192.0.2.1', '192.0.2.1'],
      ttlSeconds: 0,
      isAuthenticData: false,
      bytes: 40,
    });
    const to = { name: 'a.test', type: 'CNAME', class: 'IN', data: 'b.test' };
    expect(bare([to, { ...record, name: 'b.test', ttl: 60 }])).toMatchObject({ ttlSeconds: 0 });
    const { ttl: _, ...soaWithout } = soa(60, 60) as { ttl?: number };
    expect(bare([], [{ ...soaWithout, class: 'IN' }])).toMatchObject({ ttlSeconds: 0 });
  });

  test('its size on the wire and its time are told with each kind', () => {
    const sized = (change: Partial<Packet>): unknown => {
      const answer = read(change);
      return answer.kind === 'failed'
        ? null
        : { ...answer, isSized: answer.bytes === packet(change).length, bytes: 0 };
    };
    const more = { isAuthenticData: true, isSized: true, bytes: 0 };
    const to = [alias('a.test', 40, 'b.test')];
    const none = [soa(300, 60)];
    expect(sized({ flags: AD, answers: to })).toEqual({
      kind: 'alias',
      name: 'b.test',
      ttlSeconds: 40,
      ...more,
    });
    expect(sized({ flags: AD, authorities: none })).toEqual({
      kind: 'nodata',
      ttlSeconds: 60,
      ...more,
    });
    expect(sized({ flags: AD | NXDOMAIN, answers: to, authorities: none })).toEqual({
      kind: 'nxdomain',
      ttlSeconds: 40,
      ...more,
    });
    expect(sized({ flags: AD, answers: to, authorities: none })).toEqual({
      kind: 'nodata',
      ttlSeconds: 40,
      ...more,
    });
  });

  test('a record of another class does not count', () => {
    const chaos = { ...a('a.test', 60, '192.0.2.1'), class: 'CH' };
    expect(read({ answers: [chaos, a('a.test', 60, '192.0.2.2')] as Answers })).toMatchObject({
      data: ['192.0.2.2'],
    });
  });

  test('two hundred records are read, in all sections together', () => {
    const many = (count: number): Answers =>
      Array.from({ length: count }, (_, at) => a('a.test', 60, `10.0.${at >> 8}.${at & 255}`));
    expect(read({ answers: many(201) })).toMatchObject({ data: { length: 200 } });
    const beside = read({ answers: many(150), additionals: many(150) });
    expect(beside).toMatchObject({ data: { length: 150 } });
    const full = packet({ answers: many(150), authorities: many(150), additionals: many(150) });
    const before = Buffer.from(full);
    const { answers, authorities, additionals } = matchAnswer(full, ID, QUESTION) ?? {};
    expect([answers, authorities, additionals].map((list) => list?.length)).toEqual([150, 50, 0]);
    expect(full.equals(before)).toBe(true);
  });

  test('what else stands beside the records asked for is neither an alias nor the time of none', () => {
    const text: Answers[0] = { name: 'a.test', type: 'TXT', ttl: 60, data: 'b.test' };
    const server: Answers[0] = { name: 'test', type: 'NS', ttl: 9, data: 'ns.test' };
    expect(read({ answers: [text], authorities: [server, soa(300, 60)] })).toMatchObject({
      kind: 'nodata',
      ttlSeconds: 60,
    });
    expect(read({ answers: [text, alias('a.test', 40, 'c.test')] })).toMatchObject({
      kind: 'alias',
      name: 'c.test',
    });
  });

  test('the root is a name without letters, asked for and led to', () => {
    const root: Question = { name: '', type: 'A' };
    const bytes = packet({
      questions: [{ name: '.', type: 'A' }],
      answers: [a('.', 60, '192.0.2.1')],
    });
    const matched = matchAnswer(bytes, ID, root);
    expect(matched && readAnswer(matched, root, bytes.length)).toMatchObject({
      data: ['192.0.2.1'],
    });
    expect(read({ answers: [alias('a.test', 40, '.')] })).toMatchObject({
      kind: 'alias',
      name: '',
    });
  });
});
