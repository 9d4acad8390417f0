/** Answers as large as DNS allows, costly to read: written by hand, since no library writes them. */
import type { Query } from '../rig/dns-wire.ts';

const MOST_BYTES = 65_000;
const HEADER_BYTES = 12;
const TYPES = { MX: 15, TXT: 16 };
/** As many labels as a name may have. */
const LABELS = 120;

function packet(query: Query, records: Buffer[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(query.id, 0);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.question, ...records]);
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(60, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

/** RFC 1035 section 4.1.4. */
const pointer = (at: number): Buffer => Buffer.of(0xc0 | (at >> 8), at & 0xff);
const QUESTION = pointer(HEADER_BYTES);

/** As many MX records as fit, each a pointer into one name of single letters. */
export function manyExchanges(query: Query): Buffer {
  const name = Buffer.concat([
    ...Array.from({ length: LABELS }, () => Buffer.from('\x01b')),
    Buffer.of(0),
  ]);
  const first = record(QUESTION, TYPES.MX, Buffer.concat([Buffer.of(0, 10), name]));
  const nameAt = HEADER_BYTES + query.question.length + QUESTION.length + 10 + 2;
  const records = [first];
  for (let bytes = nameAt + name.length; bytes < MOST_BYTES; bytes += 16) {
    const at = nameAt + 2 * (records.length % (LABELS - 20));
    records.push(record(QUESTION, TYPES.MX, Buffer.concat([Buffer.of(0, 1), pointer(at)])));
  }
  return packet(query, records);
}

/** One TXT record of 30,000 strings. */
export function manyStrings(query: Query): Buffer {
  return packet(query, [record(QUESTION, TYPES.TXT, Buffer.alloc(60_000, '\x01a'))]);
}

/** Each name points two bytes back, to a pointer that does the same. */
export function pointersToPointers(query: Query): Buffer {
  const bytes = Buffer.alloc(MOST_BYTES);
  packet(query, []).copy(bytes);
  bytes.writeUInt16BE(5_000, 6);
  for (let at = HEADER_BYTES + query.question.length; at + 1 < bytes.length; at += 2) {
    bytes.writeUInt16BE(0xc000 | Math.min(at - 2, 0x3fff), at);
  }
  return bytes;
}
