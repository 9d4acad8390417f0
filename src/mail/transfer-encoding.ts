/**
 * Transfer encodings of RFC 2045, as we write them: lines of at most 76 characters, ASCII only.
 *
 * Promises that decoding gives the same bytes. Lone dots and lines that begin with "From " are hidden,
 * since some servers change them and break the signature. Never fails.
 */

const MAX_LINE_LENGTH = 76;

const [TAB, SPACE, DOT, EQUALS, LETTER_F] = [0x09, 0x20, 0x2e, 0x3d, 0x46];
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
  return isPrintable(text)
    ? quotePrintable(text)
    : fold(text.replace(/[^\t\r\n\x20-\x3c\x3e-\x7e]/g, escape));
}

/** The same of text that `isPrintable`. */
export function quotePrintable(text: string): string {
  return fold(text.replaceAll('=', '=3D'));
}

/** Whether there is nothing but ASCII without controls. */
export function isPrintable(text: string): boolean {
  return !/[^\t\r\n\x20-\x7e]/.test(text);
}

/** Escaped text in lines that are short enough. */
function fold(escaped: string): string {
  let text = escaped;
  const stray = /\r(?!\n)|(?<!\r)\n/g;
  if (stray.test(text)) text = text.replace(stray, escape);
  let out = '';
  for (let begin = 0; ;) {
    const end = text.indexOf('\r\n', begin);
    if (end === -1) return out + foldLine(text, begin, text.length);
    out += `${foldLine(text, begin, end)}\r\n`;
    begin = end + 2;
  }
}

/** One escaped line of `text` in pieces of at most 76 characters, the soft line end included. */
function foldLine(text: string, begin: number, end: number): string {
  const last = end > begin ? text.charCodeAt(end - 1) : 0;
  // White space at the end of a line would be lost on the way.
  const tail = last === SPACE || last === TAB ? (ESCAPES[last] ?? '') : '';
  const stop = tail === '' ? end : end - 1;
  let out = '';
  let at = begin;
  // Two characters are kept free for an escape at the start.
  while (stop - at + tail.length > MAX_LINE_LENGTH - 2) {
    let cut = Math.min(at + MAX_LINE_LENGTH - 4, stop);
    // An escape of three characters stays whole.
    if (text.charCodeAt(cut - 1) === EQUALS) cut -= 1;
    else if (text.charCodeAt(cut - 2) === EQUALS) cut -= 2;
    out += `${hideStart(text.slice(at, cut))}=\r\n`;
    at = cut;
  }
  return out + hideStart(text.slice(at, stop) + tail);
}

/** The first character of what some servers would change, escaped. */
function hideStart(line: string): string {
  const first = line.charCodeAt(0);
  const isChanged =
    first === DOT ? line.length === 1 : first === LETTER_F && line.startsWith('From ');
  return isChanged ? (ESCAPES[first] ?? '') + line.slice(1) : line;
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
