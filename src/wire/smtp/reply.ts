/**
 * Replies of an SMTP server (RFC 5321 section 4.2), read from bytes as they come.
 *
 * Promises that a reply is bounded (line, number of lines, bytes) and that its text is printable, since what a server
 * says is shown in events and log lines. Never guesses: bytes that are not a reply throw a `ReplyFault`, after which
 * the rest of the stream means nothing.
 */

/** One whole reply. */
export interface Reply {
  code: number;
  /** RFC 3463 status code (`5.1.1`), when its class agrees with the reply code. */
  enhanced: string | null;
  /** All lines without codes, control characters replaced, joined by one space. */
  text: string;
}

/** A reply with its lines, for EHLO. */
export interface ReplyLines extends Reply {
  lines: string[];
}

/** The server's bytes are not a reply, or are too many. */
export class ReplyFault extends Error {
  override readonly name = 'ReplyFault';
}

/** RFC 5321 section 4.5.3.1.5 says 512 octets; real servers send longer lines, none more than 2 KiB. */
export const MAX_LINE_BYTES = 2048;
export const MAX_REPLY_LINES = 100;
export const MAX_REPLY_BYTES = 65_536;

const LF = 10;
const CR = 13;
const SPACE = 32;
const HYPHEN = 45;

const ENHANCED = /^([245])\.(\d{1,3})\.(\d{1,3})(?:\s+|$)/;
// C0, DEL, C1 and the two Unicode line separators: a reply is shown in one line.
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** `text` in one line without control characters. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, ' ').trim();
}

/** `550 5.1.1 No such user`, for people. */
export function formatReply(reply: Reply): string {
  return [String(reply.code), reply.enhanced, reply.text].filter(Boolean).join(' ');
}

/** Cuts a stream of bytes into replies. One per connection; a new one after a TLS upgrade. */
export class ReplyReader {
  #rest: Buffer | null = null;
  #lines: string[] = [];
  #code = 0;
  #bytes = 0;

  /** Whether the bytes so far end inside a reply. */
  get isMidReply(): boolean {
    return this.#rest !== null || this.#lines.length > 0;
  }

  /** Takes what arrived and hands each finished reply to `take`. Throws ReplyFault. */
  push(chunk: Buffer, take: (reply: ReplyLines) => void): void {
    let bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = null;
    for (;;) {
      const end = bytes.indexOf(LF);
      if (end > MAX_LINE_BYTES || (end < 0 && bytes.length > MAX_LINE_BYTES)) {
        throw new ReplyFault(`a reply line is longer than ${MAX_LINE_BYTES} bytes`);
      }
      if (end < 0) {
        // A copy: the chunk may be a view of a large read buffer.
        this.#rest = bytes.length > 0 ? Buffer.from(bytes) : null;
        return;
      }
      const reply = this.#line(bytes, end);
      if (reply !== null) take(reply);
      bytes = bytes.subarray(end + 1);
      if (bytes.length === 0) return;
    }
  }

  #line(bytes: Buffer, lf: number): ReplyLines | null {
    // Bare LF as line end is tolerated, as every mail server does: nothing can be smuggled in a reply.
    const end = lf > 0 && bytes[lf - 1] === CR ? lf - 1 : lf;
    const code = replyCode(bytes, end);
    if (this.#lines.length > 0 && code !== this.#code) {
      throw new ReplyFault('the lines of one reply have different codes');
    }
    this.#code = code;
    this.#bytes += lf + 1;
    const text = end > 4 ? bytes.toString('utf8', 4, end) : '';
    this.#lines.push(printable(text));
    if (this.#lines.length > MAX_REPLY_LINES || this.#bytes > MAX_REPLY_BYTES) {
      throw new ReplyFault(
        `a reply is longer than ${MAX_REPLY_LINES} lines or ${MAX_REPLY_BYTES} bytes`,
      );
    }
    if (end > 3 && bytes[3] === HYPHEN) return null;
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    return makeReply(code, lines);
  }
}

/** The three digits in front (first digit 2 to 5, second 0 to 9: RFC 5321 section 4.2.1, leniently). */
function replyCode(bytes: Buffer, end: number): number {
  const [a = 0, b = 0, c = 0] = [bytes[0], bytes[1], bytes[2]];
  const separator = bytes[3];
  const isCode =
    end >= 3 && a >= 0x32 && a <= 0x35 && b >= 0x30 && b <= 0x39 && c >= 0x30 && c <= 0x39;
  if (!isCode || (end > 3 && separator !== SPACE && separator !== HYPHEN)) {
    const start = bytes.toString('latin1', 0, Math.min(end, 40)).replace(UNPRINTABLE, '?');
    throw new ReplyFault(`not an SMTP reply: "${start}"`);
  }
  return (a - 48) * 100 + (b - 48) * 10 + (c - 48);
}

function makeReply(code: number, lines: string[]): ReplyLines {
  let enhanced: string | null = null;
  const [only = ''] = lines;
  // Most replies are one line, and half of those have no code in front.
  if (lines.length === 1 && only[1] !== '.') return { code, enhanced, text: only, lines };
  const texts = lines.map((line) => {
    const match = ENHANCED.exec(line);
    // RFC 2034 section 4: the class digit and the reply's first digit say the same.
    if (match === null || Number(match[1]) !== Math.floor(code / 100)) return line;
    enhanced ??= `${match[1]}.${Number(match[2])}.${Number(match[3])}`;
    return line.slice(match[0].length);
  });
  return { code, enhanced, text: texts.join(' ').trim(), lines };
}
