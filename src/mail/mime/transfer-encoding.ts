/**
 * Transfer encodings of RFC 2045, as we write them: lines of at most 76 characters, ASCII only.
 *
 * Promises that decoding gives the same bytes. Lone dots and "From " at the beginning of a line are
 * escaped, since some servers change them and break the signature. Never fails.
 */

const MAX_LINE_LENGTH = 76;

const [TAB, LF, CR, SPACE, DOT, EQUALS, LETTER_F] = [0x09, 0x0a, 0x0d, 0x20, 0x2e, 0x3d, 0x46];
const HEX = '0123456789ABCDEF';
/** `=XX` for every byte. */
const ESCAPES = Array.from(
  { length: 256 },
  (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
);

/**
 * Quoted-printable (section 6.7) of text whose lines end in CRLF; line ends stay line ends. Escapes are made
 * for the whole text at once and lines are only measured: most mail goes through here.
 */
export function quotedPrintable(content: Buffer): string {
  const text = content.toString('latin1');
  return isPrintable(text) ? quotePrintable(text) : fold(escaped(content));
}

/**
 * With an escape for each byte but printable ASCII, tabs and line ends. Byte by byte: a function that is called for each
 * escape takes nine times as long, and a message may be nothing else.
 */
function escaped(content: Buffer): string {
  let length = content.length;
  for (let at = 0; at < content.length; at += 1) if (!isKept(content[at] ?? 0)) length += 2;
  const out = Buffer.allocUnsafe(length);
  let to = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at] ?? 0;
    if (isKept(byte)) {
      out[to] = byte;
      to += 1;
    } else {
      out[to] = EQUALS;
      out[to + 1] = HEX.charCodeAt(byte >> 4);
      out[to + 2] = HEX.charCodeAt(byte & 0x0f);
      to += 3;
    }
  }
  return out.toString('latin1');
}

function isKept(byte: number): boolean {
  return byte >= SPACE
    ? byte < 0x7f && byte !== EQUALS
    : byte === TAB || byte === CR || byte === LF;
}

/** The same for text that `isPrintable`. */
export function quotePrintable(text: string): string {
  return fold(text.replaceAll('=', '=3D'));
}

/** Whether text is ASCII without control characters. */
export function isPrintable(text: string): boolean {
  return !/[^\t\r\n\x20-\x7e]/.test(text);
}

/**
 * Escaped text in lines that are short enough. Few, flat strings: they are most of the garbage that composing makes.
 */
function fold(escaped: string): string {
  let text = escaped;
  const stray = /\r(?!\n)|(?<!\r)\n/g;
  if (stray.test(text)) text = text.replace(stray, escape);
  let out = '';
  for (let begin = 0; begin < text.length;) {
    const lineEnd = text.indexOf('\r\n', begin);
    const end = lineEnd === -1 ? text.length : lineEnd;
    let at = begin;
    const last = end > begin ? text.charCodeAt(end - 1) : 0;
    // White space at the end of a line would be lost in transit.
    const tail = last === SPACE || last === TAB ? (ESCAPES[last] ?? '') : '';
    const stop = tail === '' ? end : end - 1;
    // Two characters stay free for an escape at the start.
    while (stop - at + tail.length > MAX_LINE_LENGTH - 2) {
      const cut = cutBefore(text, Math.min(at + MAX_LINE_LENGTH - 4, stop));
      out = `${out}${visible(text, at, cut, cut)}=\r\n`;
      at = cut;
    }
    begin = lineEnd === -1 ? end : end + 2;
    out =
      tail === ''
        ? out + visible(text, at, stop, begin)
        : `${out}${visible(text, at, stop, stop)}${tail}${text.slice(end, begin)}`;
  }
  return out;
}

/** `cut`, or just before it: an escape of three characters stays whole. */
function cutBefore(text: string, cut: number): number {
  if (text.charCodeAt(cut - 1) === EQUALS) return cut - 1;
  return text.charCodeAt(cut - 2) === EQUALS ? cut - 2 : cut;
}

/**
 * `text` from `at` up to `next`, of which the line's own part ends at `end`. The first character of what some servers
 * would change is escaped.
 */
function visible(text: string, at: number, end: number, next: number): string {
  const first = text.charCodeAt(at);
  const isChanged =
    first === DOT
      ? end - at === 1
      : first === LETTER_F && at + 5 <= end && text.startsWith('From ', at);
  return isChanged ? (ESCAPES[first] ?? '') + text.slice(at + 1, next) : text.slice(at, next);
}

function escape(character: string): string {
  return ESCAPES[character.charCodeAt(0)] ?? '';
}

/** Base64 (section 6.8) in lines. */
export function base64Lines(content: Buffer): string {
  return content.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n');
}

/** Whether text that `isPrintable` can go out as it is: short lines, none that servers change. */
export function isPlainText(text: string): boolean {
  return !/^.{77}/m.test(text) && !/^(?:From |\.(?:\r|$))/m.test(text);
}
