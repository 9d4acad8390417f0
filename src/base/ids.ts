/**
 * Identifiers: UUIDv7 (RFC 9562 section 5.7) as lower-case hyphenated text.
 *
 * Promises ids that sort in the order they were made within one process, also when the wall clock
 * steps back: the embedded time never decreases and a 12-bit counter orders ids of one millisecond.
 */
import { randomBytes } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Hexadecimal digits of what is random in an id. */
const DIGITS = 16;

let lastMs = 0;
let counter = 0;
/** Random octets are drawn in blocks, and written as text, for 512 ids at once. */
let pool = drawPool();
/** The time's part of the ids of one millisecond. */
let writtenMs = -1;
let written = '';
let poolAt = 0;

/** A new UUIDv7 for the moment `nowMs` (epoch milliseconds). */
export function newId(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    counter = 0;
  } else {
    counter += 1;
    if (counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
  }
  if (poolAt === pool.length) {
    pool = drawPool();
    poolAt = 0;
  }
  const at = poolAt;
  poolAt += DIGITS;
  if (lastMs !== writtenMs) {
    const time = lastMs.toString(16).padStart(12, '0');
    written = `${time.slice(0, 8)}-${time.slice(8)}-`;
    writtenMs = lastMs;
  }
  const sequence = (0x7000 | counter).toString(16);
  return `${written}${sequence}-${pool.slice(at, at + 4)}-${pool.slice(at + 4, at + DIGITS)}`;
}

/** Octets 8 to 15 of many ids, in hexadecimal. */
function drawPool(): string {
  const octets = randomBytes(4096);
  for (let at = 0; at < octets.length; at += DIGITS / 2) {
    // RFC 9562 section 4.1: the two top bits of octet 8 are 10.
    octets[at] = ((octets[at] ?? 0) & 0x3f) | 0x80;
  }
  return octets.toString('hex');
}

/** Whether `text` is a UUID in the spelling this service prints. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The epoch milliseconds inside a UUIDv7. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
