/**
 * DNS questions and answers as bytes: what is asked, and whether what came back answers it.
 *
 * Promises that an answer is believed only when id, question and direction match (RFC 5452 section 9),
 * and that alias chains are followed at most MAX_ALIASES far. Never throws on received bytes.
 */
import * as dnsPacket from 'dns-packet';
import type { Answer, DecodedPacket } from 'dns-packet';

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'PTR' | 'TLSA' | 'TXT';

export interface Question {
  /** Lower case, without the closing dot. */
  name: string;
  type: RecordType;
}

/** What a server said, reduced to what matters here. */
export type RawAnswer =
  | { kind: 'found'; data: unknown[]; ttlSeconds: number; isAuthenticData: boolean; bytes: number }
  | { kind: 'nodata' | 'nxdomain'; ttlSeconds: number; isAuthenticData: boolean; bytes: number }
  /** The answer ends at an alias that the server did not follow: ask on for `name`. */
  | { kind: 'alias'; name: string; ttlSeconds: number; isAuthenticData: boolean; bytes: number }
  | { kind: 'failed'; reason: string };

/**
 * Records of one packet that are read, in all sections: 64 KB hold 4,000, and each may take as long as its longest name.
 * The most that real names have is some sixty, of TXT.
 */
const MAX_RECORDS = 200;
/** Offsets of the header's numbers of questions, and of records by section (RFC 1035 section 4.1.1). */
const QUESTIONS_AT = 4;
const SECTIONS_AT = [6, 8, 10];

/** Longest chain of CNAMEs; real ones have two or three, resolvers stop at about this figure too. */
export const MAX_ALIASES = 8;

/** RFC 9715: keeps answers below the smallest usual MTU, so that none is fragmented (and forged). */
const UDP_PAYLOAD_BYTES = 1232;

/** RFC 1035 section 2.3.4. Underscores and other printable characters occur in real names. */
const LABEL = /^[\x21-\x2d\x2f-\x5b\x5d-\x7e]{1,63}$/;
const MAX_NAME_LENGTH = 253;

/** `name` in the form used here, or null when no such name can exist. The root is the empty string. */
export function normalizeName(name: string): string | null {
  const lower = name.toLowerCase().replace(/\.$/, '');
  if (lower === '') return '';
  const isName = lower.length <= MAX_NAME_LENGTH && lower.split('.').every((l) => LABEL.test(l));
  return isName ? lower : null;
}

/**
 * A query with recursion desired. The AD bit asks for the resolver's DNSSEC result without the
 * signatures (RFC 6840 section 5.7). `hasEdns` false: for servers that answer FORMERR to it.
 */
export function encodeQuestion(id: number, question: Question, hasEdns: boolean): Buffer {
  const opt: Answer = {
    name: '.',
    type: 'OPT',
    udpPayloadSize: UDP_PAYLOAD_BYTES,
    flags: 0,
    options: [],
  };
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.AUTHENTIC_DATA,
    questions: [{ name: question.name === '' ? '.' : question.name, type: question.type }],
    additionals: hasEdns ? [opt] : [],
  });
}

/** The packet, when it is an answer to this question; null when it is anything else. */
export function matchAnswer(bytes: Buffer, id: number, question: Question): DecodedPacket | null {
  // The cheap test first: a flood of forged packets must not buy a full decode each.
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== id) return null;
  if (bytes.readUInt16BE(QUESTIONS_AT) > 1) return null;
  let packet: DecodedPacket;
  try {
    packet = dnsPacket.decode(withFewRecords(bytes));
  } catch {
    return null;
  }
  if (packet.type !== 'response' || packet.opcode !== 'QUERY') return null;
  const asked = packet.questions[0];
  if (asked === undefined) {
    // Some servers leave the question out of an error they could not parse.
    return packet.rcode === 'NOERROR' || packet.rcode === 'NXDOMAIN' ? null : packet;
  }
  const isSame =
    packet.questions.length === 1 &&
    asked.class === 'IN' &&
    asked.type === question.type &&
    nameOf(asked.name) === question.name;
  return isSame ? packet : null;
}

/** The packet, or a copy that says it has no more than `MAX_RECORDS`: what stands behind them is not read. */
function withFewRecords(bytes: Buffer): Buffer {
  let left = MAX_RECORDS;
  if (SECTIONS_AT.reduce((sum, at) => sum + bytes.readUInt16BE(at), 0) <= left) return bytes;
  const few = Buffer.from(bytes);
  for (const at of SECTIONS_AT) {
    const count = Math.min(bytes.readUInt16BE(at), left);
    few.writeUInt16BE(count, at);
    left -= count;
  }
  return few;
}

/** Reads a matched answer. `bytes`: its size on the wire, which is what it weighs in the cache. */
export function readAnswer(packet: DecodedPacket, question: Question, bytes: number): RawAnswer {
  if (packet.rcode !== 'NOERROR' && packet.rcode !== 'NXDOMAIN') {
    return { kind: 'failed', reason: packet.rcode };
  }
  const isAuthenticData = packet.flag_ad;
  let name = question.name;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let aliases = 0; aliases <= MAX_ALIASES; aliases++) {
    const here = packet.answers.filter((r) => r.class === 'IN' && nameOf(r.name) === name);
    const found = here.filter((record) => record.type === question.type);
    if (found.length > 0) {
      ttlSeconds = Math.min(ttlSeconds, ...found.map((record) => record.ttl ?? 0));
      const data = found.map((record) => record.data);
      return { kind: 'found', data, ttlSeconds, isAuthenticData, bytes };
    }
    const alias = here.find((record) => record.type === 'CNAME');
    if (alias === undefined || question.type === 'CNAME') {
      // RFC 2308 section 5: SOA minimum or the SOA's own TTL, whichever is less.
      const soa = packet.authorities.find((record) => record.type === 'SOA');
      const negative = { ttlSeconds: Math.min(ttlSeconds, soaTtl(soa)), isAuthenticData, bytes };
      // RFC 6604 section 3: the code is about the last name in the chain.
      if (packet.rcode === 'NXDOMAIN') return { kind: 'nxdomain', ...negative };
      if (aliases > 0 && soa === undefined) {
        return { kind: 'alias', name, ttlSeconds, isAuthenticData, bytes };
      }
      return { kind: 'nodata', ...negative };
    }
    ttlSeconds = Math.min(ttlSeconds, alias.ttl ?? 0);
    name = nameOf(String(alias.data));
  }
  return { kind: 'failed', reason: 'alias chain too long' };
}

/** Decoded names come in any case, the root as `.`. */
function nameOf(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function soaTtl(soa: Answer | undefined): number {
  if (soa === undefined) return 0;
  const { minimum } = soa.data as { minimum: number };
  return Math.min(minimum, soa.ttl ?? 0);
}
