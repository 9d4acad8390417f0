/**
 * The body of a submitted message: kept byte for byte, except for parts that servers would not accept.
 *
 * A leaf part with a line over 998 bytes or a NUL (RFC 5321 sections 4.5.3.1.6 and 4.5.2) is encoded anew, as
 * quoted-printable when it is text and as base64 otherwise, and its header says so; text outside of parts is cut into
 * lines. Everything else is unchanged, unless bytes above 127 are not allowed either. Never throws.
 */
import { isAscii } from 'node:buffer';
import { hasLongLine } from '../mime/lines.ts';
import { decodeBody } from '../mime/text.ts';
import { fieldValue, partsOf, type MimePart } from '../mime/tree.ts';
import { base64Lines, quotedPrintable } from '../mime/transfer-encoding.ts';

export interface RepairedBody {
  /** Ends in CRLF. */
  body: Buffer;
  /** The Content-Transfer-Encoding of the message itself, where it had to change; else null. */
  encoding: string | null;
}

/** Whether bytes can stay as they are. */
type Fit = (bytes: Buffer) => boolean;

/** The body of the message whose tree `root` is. `bytes` is CRLF-clean. */
export function repairParts(bytes: Buffer, root: MimePart): RepairedBody {
  return refit(bytes, root, isFit);
}

/** The same without bytes above 127 in leaf parts (RFC 6152 section 3), except in attached messages. */
export function sevenBitParts(bytes: Buffer, root: MimePart): RepairedBody {
  return refit(bytes, root, (part) => isFit(part) && isAscii(part));
}

function refit(bytes: Buffer, root: MimePart, isKept: Fit): RepairedBody {
  const body = bytes.subarray(root.bodyStart);
  if (isKept(body)) return { body: endLine(body), encoding: null };
  if (root.children.length === 0 && mayRecode(root)) {
    const { encoding, text } = recode(bytes, root);
    return { body: endLine(Buffer.from(text, 'latin1')), encoding };
  }
  const out: Buffer[] = [];
  let at = root.bodyStart;
  for (const part of partsOf(root)) {
    // The message itself is one of these here, and whatever has parts inside.
    if (!mayRecode(part)) continue;
    if (isKept(bytes.subarray(part.start, part.bodyEnd))) continue;
    out.push(bytes.subarray(at, part.start), Buffer.from(recodePart(bytes, part), 'latin1'));
    at = part.bodyEnd;
  }
  out.push(bytes.subarray(at));
  return { body: endLine(cutLines(Buffer.concat(out))), encoding: null };
}

function isFit(body: Buffer): boolean {
  return !hasLongLine(body) && !body.includes(0);
}

/** Composite types must not be encoded (RFC 2045 section 6.4). */
function mayRecode(part: MimePart): boolean {
  return !/^(?:multipart|message)\//.test(part.contentType);
}

/** A leaf part's body, encoded for lines of 76 characters. */
function recode(bytes: Buffer, part: MimePart): { encoding: string; text: string } {
  const content = decodeBody(bytes, part, part.bodyEnd - part.bodyStart);
  const isBase64 = /base64/i.test(fieldValue(bytes, part, 'content-transfer-encoding') ?? '');
  return part.contentType.startsWith('text/') && !isBase64
    ? { encoding: 'quoted-printable', text: quotedPrintable(content) }
    : { encoding: 'base64', text: base64Lines(content) };
}

/** A leaf part with its header, encoded anew. */
function recodePart(bytes: Buffer, part: MimePart): string {
  const { encoding, text } = recode(bytes, part);
  const fields = part.fields
    .filter(({ name }) => name !== 'content-transfer-encoding')
    .map((field) => bytes.toString('latin1', field.start, field.end))
    .join('');
  return `${fields}Content-Transfer-Encoding: ${encoding}\r\n\r\n${text}`;
}

/** For preambles, epilogues and single bodies: a line that is too long becomes several, a NUL becomes a space. */
function cutLines(body: Buffer): Buffer {
  if (isFit(body)) return body;
  const text = body
    .toString('latin1')
    .replaceAll('\0', ' ')
    .replace(/[^\r\n]{998}(?=[^\r\n])/g, '$&\r\n');
  return Buffer.from(text, 'latin1');
}

function endLine(body: Buffer): Buffer {
  const isEnded = body.length === 0 || body.subarray(-2).equals(Buffer.from('\r\n'));
  return isEnded ? body : Buffer.concat([body, Buffer.from('\r\n')]);
}
