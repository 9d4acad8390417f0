/**
 * Identifiers: UUIDv7 (RFC 9562 section 5.7) as lower-case hyphenated text.
 *
 * Promises that the ids of one `IdSource` sort in the order they were made, also when the wall clock
 * steps back: the embedded time never decreases and a 12-bit counter orders ids of one millisecond.
 */
import { randomBytes } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Hexadecimal digits of what is random in an id. */
const DIGITS = 16;

/** Makes the ids of one appliance; one object for all of them, because they are ordered among each other. */
export class IdSource {
  #lastMs = 0;
  #counter = 0;
  /** Random octets are drawn in blocks, and written as text, for 512 ids at once. */
  #pool = drawPool();
  #poolAt = 0;
  /** The part that encodes the time, shared by the ids of one millisecond. */
  #encodedMs = -1;
  #encoded = '';

  /** A new UUIDv7 for the moment `nowMs` (epoch milliseconds). */
  next(nowMs: number): string {
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#counter = 0;
    } else {
      this.#counter += 1;
      if (this.#counter > 0xfff) {
        this.#lastMs += 1;
        this.#counter = 0;
      }
    }
    if (this.#poolAt === this.#pool.length) {
      this.#pool = drawPool();
      this.#poolAt = 0;
    }
    const at = this.#poolAt;
    this.#poolAt += DIGITS;
    if (this.#lastMs !== this.#encodedMs) {
      const time = this.#lastMs.toString(16).padStart(12, '0');
      this.#encoded = `${time.slice(0, 8)}-${time.slice(8)}-`;
      this.#encodedMs = this.#lastMs;
    }
    const sequence = (0x7000 | this.#counter).toString(16);
    const random = this.#pool;
    return `${this.#encoded}${sequence}-${random.slice(at, at + 4)}-${random.slice(at + 4, at + DIGITS)}`;
  }
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

/** Every UUIDv7 made before `timeMs` (epoch milliseconds) sorts before this text, every later one after it. */
export function idBound(timeMs: number): string {
  const time = Math.max(timeMs, 0).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}
