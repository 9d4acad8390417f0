/**
 * A message as the DATA command transfers it (RFC 5321 section 4.5.2).
 *
 * Promises that the only `CRLF . CRLF` in what it returns is the last: stray CR or LF, which some receivers
 * take for a line end (SMTP smuggling), are refused, never repaired, because the message is signed.
 */

const CR = 13;
const LF = 10;
const DOT = 46;
const EIGHT_BIT = 0x80;

export interface MessageFacts {
  /** Whether every CR is followed by LF and every LF preceded by CR. */
  isClean: boolean;
  /** Bytes above 127: needs 8BITMIME (RFC 6152). */
  hasEightBit: boolean;
  /** Places of dots that begin a line. */
  dots: number[];
}

/** One pass over the bytes. */
export function inspectMessage(bytes: Uint8Array): MessageFacts {
  const dots: number[] = [];
  let union = 0;
  let before = LF;
  let isClean = true;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    union |= byte;
    if (byte === LF) {
      if (before !== CR) isClean = false;
    } else if (before === CR) {
      isClean = false;
    } else if (byte === DOT && before === LF) {
      dots.push(i);
    }
    before = byte;
  }
  if (before === CR) isClean = false;
  return { isClean, hasEightBit: (union & EIGHT_BIT) !== 0, dots };
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
