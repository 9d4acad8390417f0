/**
 * Decodes MIME that others wrote into text: transfer encodings, charsets and encoded words.
 *
 * Promises text for any bytes: what cannot be decoded becomes Latin-1 or U+FFFD. Work and memory
 * are linear in the input, which is cut at a limit where nobody needs the whole of it. Never throws.
 */
import { fieldValue, type MimePart } from './tree.ts';

/** How much of one part is decoded, in bytes. Reports are small; the rest of a larger one tells nothing more. */
const MAX_PART_BYTES = 262_144;

/** A part's body with its transfer encoding undone (RFC 2045 section 6). */
export function decodeBody(bytes: Uint8Array, part: MimePart, maxBytes = MAX_PART_BYTES): Buffer {
  const end = Math.min(part.bodyEnd, part.bodyStart + maxBytes);
  const body = Buffer.from(bytes.subarray(part.bodyStart, end));
  const encoding = fieldValue(bytes, part, 'content-transfer-encoding')?.toLowerCase();
  if (encoding === 'base64') return Buffer.from(body.toString('latin1'), 'base64');
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body);
  return body;
}

/** A text part as text, whole, in its stated charset where that can be decoded. */
export function decodeText(bytes: Uint8Array, part: MimePart): string {
  const body = decodeBody(bytes, part, part.bodyEnd - part.bodyStart);
  return decodeCharset(body, part.parameters.get('charset') ?? 'utf-8');
}

/** Header text with its encoded words decoded (RFC 2047 section 6). `value` is Latin-1 text of the bytes. */
export function decodeWords(value: string): string {
  const text = value.slice(0, MAX_PART_BYTES);
  // White space between two encoded words is not text.
  const joined = text.replace(/(\?=)[ \t\r\n]+(?==\?)/g, '$1');
  const decoded = joined.replace(
    /=\?([\w.:+-]{1,40})(?:\*[\w-]*)?\?([BbQq])\?([^?\s]*)\?=/g,
    (_, charset: string, encoding: string, payload: string) => {
      const bytes =
        encoding.toUpperCase() === 'B'
          ? Buffer.from(payload, 'base64')
          : decodeEscapes(payload.replaceAll('_', ' '));
      return markedWord(bytes, charset);
    },
  );
  return unmark(decoded);
}

/** Bytes in a charset as text; an unknown charset is read as UTF-8, and if that fails as Latin-1. */
export function decodeCharset(bytes: Uint8Array, charset: string): string {
  for (const label of [charset.trim().toLowerCase(), 'utf-8']) {
    try {
      return new TextDecoder(label as 'utf-8', { fatal: true }).decode(bytes);
    } catch {
      // An unknown label or bytes that do not fit it: the next one.
    }
  }
  return Buffer.from(bytes).toString('latin1');
}

const [TAB, LF, CR, SPACE, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x3d];

/** Byte by byte: a long text has millions of escapes. Line ends become CRLF. */
function decodeQuotedPrintable(body: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(2 * body.length);
  let end = 0;
  // White space at the end of a line was added on the way (RFC 2045 section 6.7, rule 3).
  let kept = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === EQUALS) {
      const escaped = hexAt(body, at + 1) * 16 + hexAt(body, at + 2);
      const lineEnd = softBreak(body, at + 1);
      if (!Number.isNaN(escaped)) {
        out[end++] = escaped;
        at += 2;
      } else if (lineEnd === -1) out[end++] = EQUALS;
      else at = lineEnd;
      kept = end;
    } else if (byte === LF) {
      end = kept;
      out[end++] = CR;
      out[end++] = LF;
      kept = end;
    } else {
      out[end++] = byte;
      if (!isBlank(byte)) kept = end;
    }
  }
  return Buffer.from(out.subarray(0, kept));
}

/** Where the line ends that has only white space from `at` on; -1 where it has more, or does not end. */
function softBreak(body: Uint8Array, at: number): number {
  let end = at;
  while (isBlank(body[end])) end += 1;
  return body[end] === LF ? end : -1;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === CR;
}

/** The value of the hexadecimal digit there, in either case; NaN where there is none. */
function hexAt(body: Uint8Array, at: number): number {
  const byte = body[at] ?? 0;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte & 0xdf;
  return letter >= 0x41 && letter <= 0x46 ? letter - 0x37 : Number.NaN;
}

function decodeEscapes(text: string): Buffer {
  const plain = text.replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(plain, 'latin1');
}

/*
 * One character may be cut in two between adjacent words, against RFC 2047 section 5, and senders do
 * it: words of one charset are joined as bytes before they are decoded.
 */
const MARK = '\u{f0000}';

function markedWord(bytes: Buffer, charset: string): string {
  return `${MARK}${charset.toLowerCase()}${MARK}${bytes.toString('latin1')}${MARK}`;
}

function unmark(text: string): string {
  if (!text.includes(MARK)) return decodeCharset(Buffer.from(text, 'latin1'), 'utf-8');
  const pieces = text.split(MARK);
  // Between words: text, charset, bytes, text, charset, bytes, …, text.
  let out = '';
  let charset = '';
  let bytes = '';
  const flush = (): void => {
    if (bytes !== '') out += decodeCharset(Buffer.from(bytes, 'latin1'), charset);
    bytes = '';
  };
  for (let at = 0; at < pieces.length; at += 3) {
    const plain = pieces[at] ?? '';
    if (plain !== '') {
      flush();
      out += decodeCharset(Buffer.from(plain, 'latin1'), 'utf-8');
    }
    const next = pieces[at + 1];
    if (next === undefined) break;
    if (next !== charset) flush();
    charset = next;
    bytes += pieces[at + 2] ?? '';
  }
  flush();
  return out;
}
