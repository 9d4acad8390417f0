/**
 * DNS packets for the rig's server (RFC 1035 section 4), without name compression.
 *
 * Promises an encoder that shares nothing with the appliance's own DNS code, so that both being wrong in the same
 * way is unlikely. Queries it cannot read give null.
 */
import { isIPv6 } from 'node:net';

/** RFC 1035 section 3.2.2 and the registries of later types. */
const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  TLSA: 52,
  CAA: 257,
} as const;
const RCODES = { noerror: 0, servfail: 2, nxdomain: 3, refused: 5 } as const;
const CLASS_IN = 1;
const TYPE_OPT = 41;
/** RFC 1035 section 4.2.1. */
const PLAIN_UDP_BYTES = 512;

export type RecordType = keyof typeof TYPES;
export type Rcode = keyof typeof RCODES;

export interface ResourceRecord {
  name: string;
  type: RecordType;
  value: string | string[];
  ttlSeconds: number;
}

export interface Query {
  id: number;
  /** Lower case, without the closing dot. */
  name: string;
  type: RecordType;
  /** The question section's bytes, to be sent back as they came (the case of letters too). */
  question: Buffer;
  isRecursionDesired: boolean;
  /** Largest answer the asker takes over UDP (RFC 6891 section 6.2.3). */
  udpBytes: number;
}

export interface Answer {
  rcode: Rcode;
  records: ResourceRecord[];
  authority: ResourceRecord[];
  isAuthenticated: boolean;
  isTruncated: boolean;
}

/** The one question of `packet`; null when it is no query for a type this server knows. */
export function parseQuery(packet: Buffer): Query | null {
  if (packet.length < 17 || packet.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = 12;
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    if (length > 63 || at + 1 + length >= packet.length) return null;
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (end > packet.length) return null;
  const typeNumber = packet.readUInt16BE(at + 1);
  const type = Object.entries(TYPES).find(([, number]) => number === typeNumber)?.[0];
  if (type === undefined) return null;
  const hasOpt =
    packet.readUInt16BE(10) > 0 &&
    end + 11 <= packet.length &&
    packet[end] === 0 &&
    packet.readUInt16BE(end + 1) === TYPE_OPT;
  return {
    id: packet.readUInt16BE(0),
    name: labels.join('.').toLowerCase(),
    type: type as RecordType,
    question: packet.subarray(12, end),
    isRecursionDesired: ((packet[2] ?? 0) & 1) === 1,
    udpBytes: hasOpt ? Math.max(PLAIN_UDP_BYTES, packet.readUInt16BE(end + 3)) : PLAIN_UDP_BYTES,
  };
}

export function encodeAnswer(query: Query, answer: Answer): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.id, 0);
  header[2] = 0x80 | (answer.isTruncated ? 0x02 : 0) | (query.isRecursionDesired ? 0x01 : 0);
  header[3] = 0x80 | (answer.isAuthenticated ? 0x20 : 0) | RCODES[answer.rcode];
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answer.records.length, 6);
  header.writeUInt16BE(answer.authority.length, 8);
  const rows = [...answer.records, ...answer.authority].map(encodeRecord);
  return Buffer.concat([header, query.question, ...rows]);
}

function encodeRecord(record: ResourceRecord): Buffer {
  const data = encodeData(record.type, record.value);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(TYPES[record.type], 0);
  fixed.writeUInt16BE(CLASS_IN, 2);
  fixed.writeUInt32BE(record.ttlSeconds, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(record.name), fixed, data]);
}

function encodeData(type: RecordType, value: string | string[]): Buffer {
  if (type === 'TXT') return encodeStrings(value);
  const words = String(value).split(' ');
  const word = (index: number): string => words[index] ?? '';
  switch (type) {
    case 'A':
      return Buffer.from(word(0).split('.').map(Number));
    case 'AAAA':
      return encodeIpv6(word(0));
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return encodeName(word(0));
    case 'MX':
      return Buffer.concat([uint16(Number(word(0))), encodeName(word(1))]);
    case 'TLSA':
      return Buffer.concat([
        Buffer.from(words.slice(0, 3).map(Number)),
        Buffer.from(word(3), 'hex'),
      ]);
    case 'CAA':
      return Buffer.concat([
        Buffer.from([Number(word(0)), word(1).length]),
        Buffer.from(word(1) + word(2), 'latin1'),
      ]);
    case 'SOA': {
      const times = Buffer.alloc(20);
      for (let index = 0; index < 5; index += 1)
        times.writeUInt32BE(Number(word(index + 2)), index * 4);
      return Buffer.concat([encodeName(word(0)), encodeName(word(1)), times]);
    }
  }
}

/** Character strings of at most 255 bytes, each after its length (RFC 1035 section 3.3). */
function encodeStrings(value: string | string[]): Buffer {
  const strings =
    typeof value === 'string'
      ? Array.from({ length: Math.max(1, Math.ceil(value.length / 255)) }, (_, index) =>
          value.slice(index * 255, (index + 1) * 255),
        )
      : value;
  const parts = strings.map((text) => {
    const bytes = Buffer.from(text, 'utf8');
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  return Buffer.concat(parts);
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, 'latin1');
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  return Buffer.concat([...parts, Buffer.of(0)]);
}

function encodeIpv6(text: string): Buffer {
  if (!isIPv6(text)) throw new Error(`not an IPv6 address: ${text}`);
  const [head = '', tail] = text.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const middle = Array.from({ length: 8 - left.length - right.length }, () => '0');
  const all = [...left, ...middle, ...right].map((group) => uint16(Number.parseInt(group, 16)));
  return Buffer.concat(all);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
