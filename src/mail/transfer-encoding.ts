/**
 * Transfer encodings of RFC 2045, as we write them: lines of at most 76 characters, ASCII only.
 *
 * Promises that decoding gives the same bytes. Lone dots and lines that begin with "From " are hidden,
 * since some servers change them and break the signature. Never fails.
 */

const MAX_LINE_LENGTH = 76;

/** `=XX` for every byte, made once: most of the time of encoding went into making them. */
const ESCAPES = Array.from(
  { length: 256 },
  (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
);

/** Quoted-printable (section 6.7) of text whose lines end in CRLF; line ends stay line ends. */
export function quotedPrintable(content: Buffer): string {
  const lines = content.toString('latin1').split('\r\n');
  for (let at = 0; at < lines.length; at += 1) lines[at] = codeLine(lines[at] ?? '');
  return lines.join('\r\n');
}

/** Base64 (section 6.8) in lines. */
export function base64Lines(content: Buffer): string {
  return content.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n');
}

/** Whether text can go out as it is: ASCII without controls, short lines, none that servers change. */
export function isPlainText(text: string): boolean {
  return (
    !/[^\t\r\n\x20-\x7e]/.test(text) &&
    !/^.{77}/m.test(text) &&
    !/^(?:From |\.(?:\r|$))/m.test(text)
  );
}

function codeLine(line: string): string {
  let coded = /[^\t\x20-\x3c\x3e-\x7e]/.test(line)
    ? line.replace(/[^\t\x20-\x3c\x3e-\x7e]/g, hex)
    : line;
  // White space at the end of a line would be lost on the way.
  if (/[\t ]$/.test(coded)) coded = coded.slice(0, -1) + hex(coded.slice(-1));
  // Two characters are kept free for an escape at the start.
  if (coded.length <= MAX_LINE_LENGTH - 2) return hideStart(coded);
  const pieces: string[] = [];
  for (let at = 0; at < coded.length;) {
    let end = coded.length;
    if (end - at > MAX_LINE_LENGTH - 2) {
      end = at + MAX_LINE_LENGTH - 4;
      // An escape of three characters stays whole.
      if (coded[end - 1] === '=') end -= 1;
      else if (coded[end - 2] === '=') end -= 2;
    }
    pieces.push(hideStart(coded.slice(at, end)));
    at = end;
  }
  return pieces.join('=\r\n');
}

/** The first character of what some servers would change, escaped. */
function hideStart(line: string): string {
  return line === '.' || line.startsWith('From ') ? hex(line.slice(0, 1)) + line.slice(1) : line;
}

function hex(character: string): string {
  return ESCAPES[character.charCodeAt(0)] ?? '';
}
