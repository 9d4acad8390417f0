/**
 * Transfer encodings of RFC 2045, as we write them: lines of at most 76 characters, ASCII only.
 *
 * Promises that decoding gives the same bytes. Lone dots and lines that begin with "From " are hidden,
 * since some servers change them and break the signature. Never fails.
 */

const MAX_LINE_LENGTH = 76;

const [TAB, LF, CR, SPACE, DOT, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x2e, 0x3d];
const FROM = [0x46, 0x72, 0x6f, 0x6d, SPACE];
const HEX = Buffer.from('0123456789ABCDEF', 'latin1');
/** 1 for every byte that may stand for itself. */
const LITERAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === TAB || (byte >= SPACE && byte < 0x7f && byte !== EQUALS) ? 1 : 0,
);

/**
 * Quoted-printable (section 6.7) of text whose lines end in CRLF; line ends stay line ends. Byte by byte
 * into one buffer: most mail goes through here, and a pattern a line cost three times as much.
 */
export function quotedPrintable(content: Buffer): string {
  const out = Buffer.allocUnsafe(Math.ceil(content.length * 3.125) + 16);
  let to = 0;
  let column = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at] ?? 0;
    if (byte === CR && content[at + 1] === LF) {
      out[to++] = CR;
      out[to++] = LF;
      at += 1;
      column = 0;
      continue;
    }
    const isLast = isLineEnd(content, at + 1);
    // White space at the end of a line would be lost on the way.
    let isLiteral = LITERAL[byte] === 1 && !(isLast && (byte === SPACE || byte === TAB));
    const width = isLiteral ? 1 : 3;
    if (column + width > (isLast ? MAX_LINE_LENGTH : MAX_LINE_LENGTH - 1)) {
      out[to++] = EQUALS;
      out[to++] = CR;
      out[to++] = LF;
      column = 0;
    }
    if (column === 0 && isChanged(content, at, isLast)) isLiteral = false;
    if (isLiteral) {
      out[to++] = byte;
      column += 1;
    } else {
      out[to++] = EQUALS;
      out[to++] = HEX[byte >> 4] ?? 0;
      out[to++] = HEX[byte & 15] ?? 0;
      column += 3;
    }
  }
  return out.toString('latin1', 0, to);
}

function isLineEnd(content: Buffer, at: number): boolean {
  return at >= content.length || (content[at] === CR && content[at + 1] === LF);
}

/** Whether some servers would change a line that begins here. */
function isChanged(content: Buffer, at: number, isLast: boolean): boolean {
  const byte = content[at];
  if (byte === DOT) return isLast;
  return byte === FROM[0] && FROM.every((expected, place) => content[at + place] === expected);
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
