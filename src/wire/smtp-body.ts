/**
 * A message as the DATA command transfers it (RFC 5321 section 4.5.2).
 *
 * Promises that the only `CRLF . CRLF` in what it returns is the last: stray CR or LF, which some receivers
 * take for a line end (SMTP smuggling), are refused, never repaired, because the message is signed.
 */

import { isAscii } from 'node:buffer';

const CR = 13;
const LF = 10;
const DOT = 46;

export interface MessageFacts {
  /** Whether every CR is followed by LF and every LF preceded by CR. */
  isClean: boolean;
  /** Bytes above 127: needs 8BITMIME (RFC 6152). */
  hasEightBit: boolean;
  /** Places of dots that begin a line. */
  dots: number[];
}

/** Looks for line ends by the runtime's own search: a loop over the bytes costs several times as much. */
export function inspectMessage(bytes: Uint8Array): MessageFacts {
  const dots: number[] = bytes[0] === DOT ? [0] : [];
  let isClean = true;
  let lineEnds = 0;
  for (let lf = bytes.indexOf(LF); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf - 1] !== CR) isClean = false;
    if (bytes[lf + 1] === DOT) dots.push(lf + 1);
    lineEnds += 1;
  }
  let returns = 0;
  for (let cr = bytes.indexOf(CR); cr >= 0; cr = bytes.indexOf(CR, cr + 1)) returns += 1;
  // Every LF has its CR: then equal numbers mean that no CR stands alone.
  return { isClean: isClean && returns === lineEnds, hasEightBit: !isAscii(bytes), dots };
}

/** From this size on, what is transferred is made once for all recipients of a message. */
const SHARED_BYTES = 256 * 1024;

/** Beside the message, as long as that is held: of 10 MB to a thousand receivers at once, a copy each is too much. */
const shared = new WeakMap<Buffer, Buffer>();

/** The body of DATA, as `dotStuff` makes it. `message` is not changed afterwards, nor is what this returns. */
export function bodyOf(message: Buffer, dots: readonly number[]): Buffer {
  if (message.length < SHARED_BYTES) return dotStuff(message, dots);
  let body = shared.get(message);
  if (body === undefined) {
    body = dotStuff(message, dots);
    shared.set(message, body);
  }
  return body;
}

/** The body of DATA: dots doubled, the final dot on a line of its own. `message` must be clean. */
export function dotStuff(message: Buffer, dots: readonly number[]): Buffer {
  const endsLine = message.length === 0 || message[message.length - 1] === LF;
  const tail = endsLine ? '.\r\n' : '\r\n.\r\n';
  const body = Buffer.allocUnsafe(message.length + dots.length + tail.length);
  let from = 0;
  let to = 0;
  for (const dot of dots) {
    to += message.copy(body, to, from, dot);
    body[to++] = DOT;
    from = dot;
  }
  to += message.copy(body, to, from);
  body.write(tail, to, 'latin1');
  return body;
}
