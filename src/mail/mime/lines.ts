/**
 * Line endings: the one file where bytes become CRLF-clean, before the message is signed.
 *
 * Promises that afterwards every CR stands before an LF and every LF behind a CR, so that no receiver
 * can find an end of data inside a message (SMTP smuggling, CVE-2023-51764), and that the signer, the
 * SMTP client and the receiver see the same lines. Never fails.
 */

import { isAscii } from 'node:buffer';
import { asBuffer } from '../../base/as-buffer.ts';

/** Longest line without its CRLF, in bytes (RFC 5322 section 2.1.1, RFC 5321 section 4.5.3.1.6). */
export const MAX_LINE_BYTES = 998;

const CR = 0x0d;
const LF = 0x0a;
const STRAY = /\r(?!\n)|(?<!\r)\n/;
const STRAY_OR_DOT = new RegExp(`${STRAY.source}|\\n\\.`);

/** `bytes` with every stray CR and LF as CRLF; the same bytes, uncopied, when they are clean already. */
export function normalizeLines(bytes: Uint8Array): Buffer {
  const input = asBuffer(bytes);
  const strays = countStrays(input);
  if (strays === 0) return input;
  const out = Buffer.allocUnsafe(input.length + strays);
  let to = 0;
  for (let at = 0; at < input.length; at += 1) {
    const byte = input[at] ?? 0;
    if (byte !== CR && byte !== LF) {
      out[to++] = byte;
      continue;
    }
    out[to++] = CR;
    out[to++] = LF;
    if (byte === CR && input[at + 1] === LF) at += 1;
  }
  return out;
}

/**
 * Whether a line has more than `maxBytes`, its CRLF not counted. Lines end at LF. Looks at the last line end within
 * reach and goes on from there, so that a message of nothing but line ends costs no more than any other.
 */
export function hasLongLine(bytes: Uint8Array, maxBytes: number = MAX_LINE_BYTES): boolean {
  const input = asBuffer(bytes);
  const reach = maxBytes + '\r\n'.length;
  let begin = 0;
  while (input.length - begin > maxBytes) {
    const last = input.subarray(begin, begin + reach).lastIndexOf(LF);
    if (last === -1) return true;
    // A single line whose LF is as far off as this fits only with a CR before it.
    const isFull = last === reach - 1 && input.indexOf(LF, begin) === begin + last;
    if (isFull && input[begin + last - 1] !== CR) return true;
    begin += last + 1;
  }
  return false;
}

/**
 * Whether a message can leave as it is: ASCII, every line end CRLF and one at its end, no line of more than
 * `MAX_LINE_BYTES`, none that begins with a dot (RFC 5321 section 4.5.2).
 */
export function isReady(text: string): boolean {
  if (Buffer.byteLength(text) !== text.length || STRAY_OR_DOT.test(text)) return false;
  if (!text.endsWith('\r\n') || text.startsWith('.')) return false;
  for (let begin = 0; begin < text.length;) {
    const lf = text.indexOf('\n', begin);
    // Its CR stands before it.
    if (lf - 1 - begin > MAX_LINE_BYTES) return false;
    begin = lf + 1;
  }
  return true;
}

/** Whether every byte is ASCII. */
export function isSevenBit(bytes: Uint8Array): boolean {
  return isAscii(bytes);
}

/** CRs and LFs that do not stand in a pair. */
function countStrays(input: Buffer): number {
  // One search by the runtime, where nearly all messages end: a loop over the lines costs three times as much.
  if (!STRAY.test(input.toString('latin1'))) return 0;
  let strays = 0;
  let wasCr = false;
  for (let at = 0; at < input.length; at += 1) {
    if (wasCr !== (input[at] === LF)) strays += 1;
    wasCr = input[at] === CR;
  }
  return wasCr ? strays + 1 : strays;
}
