/**
 * Identifiers: UUIDv7 (RFC 9562 section 5.7) as lower-case hyphenated text.
 *
 * Promises ids that sort in the order they were made within one process, also when the wall clock
 * steps back: the embedded time never decreases and a 12-bit counter orders ids of one millisecond.
 */
import { randomBytes } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let lastMs = 0;
let counter = 0;
/** Random bytes are drawn in blocks: one system call for 512 ids instead of one each. */
let pool = randomBytes(4096);
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
  if (poolAt + 8 > pool.length) {
    pool = randomBytes(4096);
    poolAt = 0;
  }
  const at = poolAt;
  poolAt += 8;
  if (lastMs !== writtenMs) {
    const time = lastMs.toString(16).padStart(12, '0');
    written = `${time.slice(0, 8)}-${time.slice(8)}-`;
    writtenMs = lastMs;
  }
  const sequence = (0x7000 | counter).toString(16);
  // RFC 9562 section 4.1: the two top bits of octet 8 are 10.
  pool[at] = ((pool[at] ?? 0) & 0x3f) | 0x80;
  return `${written}${sequence}-${pool.toString('hex', at, at + 2)}-${pool.toString('hex', at + 2, at + 8)}`;
}

/** Whether `text` is a UUID in the spelling this service prints. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The epoch milliseconds inside a UUIDv7. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
