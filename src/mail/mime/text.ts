/**
 * Decodes MIME that others wrote into text: transfer encodings, charsets and encoded words.
 *
 * Promises text for any bytes: what cannot be decoded becomes Latin-1 or U+FFFD. Work and memory
 * are linear in the input, and the input is cut at a limit. Never throws.
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
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body.toString('latin1'));
  return body;
}

/** A text part as text, in its stated charset where that can be decoded. */
export function decodeText(bytes: Uint8Array, part: MimePart): string {
  return decodeCharset(decodeBody(bytes, part), part.parameters.get('charset') ?? 'utf-8');
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

function decodeQuotedPrintable(text: string): Buffer {
  // White space at the end of a line was added on the way (RFC 2045 section 6.7, rule 3).
  const lines = text.split('\n').map((line) => line.trimEnd());
  const plain = lines.join('\r\n').replaceAll('=\r\n', '');
  return decodeEscapes(plain);
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
