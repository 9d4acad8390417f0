/**
 * Broken DNS packets (docs/reliability.md R24): an answer or no match, never a throw, never much time.
 */
import { afterAll, expect, test } from 'bun:test';
import { matchAnswer, readAnswer } from '../../src/wire/dns/message.ts';
import type { Question, RecordType } from '../../src/wire/dns/message.ts';
import { seeded } from '../mail/random.ts';
import { bestOf, tookMs } from '../rig/best-of.ts';
import { Lookups } from '../rig/lookups.ts';
import { answerWith } from '../rig/raw-dns.ts';
import type { Query, ResourceRecord } from '../rig/dns-wire.ts';

const SEED = 1035;
const ROUNDS = 40_000;
const OVER_NETWORK = 2000;

const lookups = new Lookups();

afterAll(() => lookups.close());

const VALUES: Record<RecordType, string> = {
  A: '192.0.2.1',
  AAAA: '2001:db8::1',
  CNAME: 'b.test',
  MX: '10 mx.a.test',
  PTR: 'host.test',
  TLSA: '3 1 1 00112233',
  TXT: 'v=spf1 -all',
};
const TYPE_NUMBERS: Record<RecordType, number> = {
  A: 1,
  AAAA: 28,
  CNAME: 5,
  MX: 15,
  PTR: 12,
  TLSA: 52,
  TXT: 16,
};
const TYPES = Object.keys(VALUES) as RecordType[];

function queryFor(type: RecordType): Query {
  const question = Buffer.from('\x01a\x04test\0\0\0\0\x01', 'latin1');
  question.writeUInt16BE(TYPE_NUMBERS[type], question.length - 4);
  return { id: 0x1234, name: 'a.test', type, question, isRecursionDesired: true, udpBytes: 512 };
}

function packetFor(query: Query, type: RecordType): Buffer {
  const record = (name: string, t: ResourceRecord['type'], value: string): ResourceRecord => ({
    name,
    type: t,
    value,
    ttlSeconds: 60,
  });
  return answerWith(query, {
    records: [record('a.test', 'CNAME', 'b.test'), record('b.test', type, VALUES[type])],
    authority: [record('test', 'SOA', 'ns.test admin.test 1 2 3 4 5')],
  });
}

test(`${ROUNDS} mutated packets (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  const kinds = new Map<string, number>();
  let slowestMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const type = TYPES[round % TYPES.length] as RecordType;
    const query = queryFor(type);
    let packet = packetFor(query, type);
    for (let i = 1 + random.int(5); i > 0; i--)
      packet[2 + random.int(packet.length - 2)] = random.int(256);
    if (random.int(4) === 0) packet = packet.subarray(0, random.int(packet.length));
    const question: Question = { name: 'a.test', type };
    let kind = '';
    const read = (): void => {
      const matched = matchAnswer(packet, query.id, question);
      kind = matched === null ? 'none' : readAnswer(matched, question, packet.length).kind;
    };
    slowestMs = Math.max(slowestMs, await bestOf(999, () => tookMs(read)));
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  // Each way out was taken, so the mutations reach behind the first check.
  for (const kind of ['none', 'found', 'nodata', 'failed']) {
    expect([kind, kinds.get(kind) ?? 0]).not.toEqual([kind, 0]);
  }
  expect(slowestMs).toBeLessThan(1000);
});

test('a packet full of pointers to pointers is read at once', async () => {
  const query = queryFor('A');
  const packet = Buffer.alloc(65_000);
  answerWith(query, {}).copy(packet);
  packet.writeUInt16BE(5000, 6);
  // Each name points two bytes back, to a pointer that does the same.
  for (let at = 12 + query.question.length; at + 1 < packet.length; at += 2) {
    packet.writeUInt16BE(0xc000 | Math.min(at - 2, 0x3fff), at);
  }
  const read = (): unknown => matchAnswer(packet, query.id, { name: 'a.test', type: 'A' });
  expect(await bestOf(999, () => tookMs(read))).toBeLessThan(1000);
});

test(`${OVER_NETWORK} mutated answers over the network end as answers (seed ${SEED})`, async () => {
  const random = seeded(SEED + 1);
  const server = await lookups.raw(({ query }) => {
    const packet = packetFor({ ...query, name: 'a.test' }, query.type as RecordType);
    // The question stays as it was, so that the rest is read.
    const from = 12 + query.question.length;
    for (let i = 1 + random.int(4); i > 0; i--) {
      packet[from + random.int(packet.length - from)] = random.int(256);
    }
    return [packet];
  });
  const patience = { rounds: [5], loneRounds: [5], tcp: 20 };
  const kinds = new Set<string>();
  for (let i = 0; i < OVER_NETWORK; i += 4) {
    // A new resolver each time: nothing comes from a cache.
    const dns = lookups.resolver([server], undefined, patience);
    const name = 'a.test';
    const answers = [dns.a(name), dns.mx(name), dns.txt(name), dns.tlsa(name)];
    for (const answer of await Promise.all(answers)) kinds.add(answer.kind);
  }
  expect(kinds.has('found')).toBe(true);
  expect(kinds.has('failed')).toBe(true);
}, 30_000);
