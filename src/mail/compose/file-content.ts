/**
 * The content of a file as client libraries write it in JSON: base64 text, the JSON of a Node Buffer, a list of integers,
 * or, of a calendar alone, its text.
 *
 * Promises the exact bytes, or says that there are none. Takes time linear in the content. Never throws.
 */
import { isRecord } from '../../base/json.ts';
import { shared, sharedFromBase64 } from '../../base/shared-bytes.ts';

/** How the text of a calendar begins (RFC 5545 section 3.4); base64 has no colon. */
const CALENDAR = 'BEGIN:VCALENDAR';

/** The bytes of a file's text; null for text that is neither base64 nor a calendar. */
export function bytesOfText(content: string): Uint8Array | null {
  if (content.startsWith(CALENDAR)) return Buffer.from(content, 'utf8');
  // Some libraries break base64 into lines (RFC 2045 section 6.8); some use the URL-safe alphabet.
  if (!/^[A-Za-z0-9+/_\s-]*(?:=\s*){0,2}$/.test(content)) return null;
  // The decoder leaves white space out. Taking it out before costs half a second where it is in every group.
  return sextetsOf(content) % 4 === 1 ? null : sharedFromBase64(content);
}

/** How many characters there are in front of the padding, of text that has base64 and white space alone. */
function sextetsOf(text: string): number {
  const padding = text.indexOf('=');
  const end = padding === -1 ? text.length : padding;
  if (!/\s/.test(text)) return end;
  let count = 0;
  for (let at = 0; at < end; at += 1) if (!isSpace(text.charCodeAt(at))) count += 1;
  return count;
}

function isSpace(code: number): boolean {
  return code <= 0x20 || code > 0x7f;
}

/** The bytes of a file that is a list of numbers or a Node Buffer; null where there is no list. */
export function bytesOfList(content: unknown): Uint8Array | 'faulty' | null {
  const numbers = numbersOf(content);
  return numbers === null ? null : (octetsOf(numbers) ?? 'faulty');
}

/** The list in `content`, or in the JSON of a Node Buffer; null where there is no list. */
function numbersOf(content: unknown): readonly unknown[] | null {
  if (Array.isArray(content)) return content;
  if (typeof content !== 'object' || content === null) return null;
  if (!('data' in content) || !Array.isArray(content.data)) return null;
  const isBuffer = 'type' in content && content.type === 'Buffer';
  return isBuffer && Object.keys(content).length === 2 ? content.data : [null];
}

function octetsOf(numbers: readonly unknown[]): Uint8Array | null {
  const bytes = new Uint8Array(numbers.length);
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at];
    if (typeof number !== 'number' || !Number.isInteger(number)) return null;
    if (number < 0 || number > 255) return null;
    bytes[at] = number;
  }
  return bytes;
}

/**
 * Makes bytes of the files in the JSON of a body, one email or a list of them, where they stand. A list that is no file
 * becomes `false`, and any other content stays: the schema refuses both.
 */
export function makeFileBytes(value: unknown): void {
  for (const email of Array.isArray(value) ? value : [value]) {
    const attachments: unknown = isRecord(email) ? email['attachments'] : null;
    if (!Array.isArray(attachments)) continue;
    for (const attachment of attachments) {
      if (!isRecord(attachment)) continue;
      const { content } = attachment;
      const bytes = typeof content === 'string' ? bytesOfText(content) : bytesOfList(content);
      if (bytes === 'faulty') attachment['content'] = false;
      else if (bytes !== null) attachment['content'] = shared(bytes);
    }
  }
}
