/**
 * Splits MIME messages that others wrote: where each part lies, and what its header says.
 *
 * The story of this folder. `tree.ts` splits bytes into parts, once; `text.ts` decodes parts and header texts;
 * `message-parts.ts` picks what a person wants to see. In the other direction, `lines.ts` makes line endings clean and
 * `transfer-encoding.ts` encodes bodies for sending. Submitted mail, inbound reports and the dashboard all read through
 * here, so any bytes must do. Pure functions.
 *
 * Promises one pass over the lines, no recursion and bounded memory whatever comes in: the tree holds
 * offsets, never copies; depth, parts and header fields have limits, beyond which the rest counts as
 * body. Malformed input is read as far as it goes. Never throws.
 */

import { asBuffer } from '../../base/as-buffer.ts';

export interface MimeLimits {
  /** Multiparts inside one another; a deeper multipart is a leaf. */
  depth: number;
  /** Parts in all; from the next delimiter on, everything is body text. */
  parts: number;
  /** Header fields of one part; further ones are dropped. */
  fields: number;
  /** Bytes of one header field; a longer one is cut. */
  fieldBytes: number;
}

/** Far above what real mail has, far below what could do harm. */
export const MIME_LIMITS: MimeLimits = { depth: 20, parts: 200, fields: 300, fieldBytes: 65_536 };

/** The same for the header of the message alone: its body is not looked at. */
export const HEADER_ONLY: MimeLimits = { ...MIME_LIMITS, depth: 0 };

export interface MimeField {
  /** Lower case. */
  name: string;
  /** Offsets of the whole field, its line end included. */
  start: number;
  end: number;
  /** Offset behind the colon. */
  valueStart: number;
}

export interface MimePart {
  fields: MimeField[];
  /** Lower-case `type/subtype`; `text/plain` where none is given (RFC 2045 section 5.2). */
  contentType: string;
  /** Parameters of the content type, names in lower case. */
  parameters: Map<string, string>;
  /** Offset of the header. */
  start: number;
  /** Offsets of the body. */
  bodyStart: number;
  bodyEnd: number;
  children: MimePart[];
}

const LF = 0x0a;
const CR = 0x0d;
const DASH = 0x2d;
const COLON = 0x3a;

/** Beyond RFC 2046, which allows 70 characters. */
const MAX_BOUNDARY_LENGTH = 200;

interface Open {
  part: MimePart;
  boundary: string;
}

/** Splits a whole message. Lines may end in CRLF or LF. `onMoreParts` is told when there are more than the limit. */
export function splitMime(
  bytes: Uint8Array,
  limits: MimeLimits = MIME_LIMITS,
  onMoreParts: () => void = () => undefined,
): MimePart {
  const input = asBuffer(bytes);
  const root = newPart(0);
  const open: Open[] = [];
  let levels = levelsOf(open);
  let part = root;
  let count = 1;
  let isHeader = true;
  let at = 0;
  while (at < input.length) {
    // Where no multipart is open, the rest is body, however many lines it has.
    if (!isHeader && open.length === 0) break;
    const lf = input.indexOf(LF, at);
    const next = lf === -1 ? input.length : lf + 1;
    const end = lineEnd(input, at, next);
    const hit = open.length > 0 && input[at] === DASH ? findBoundary(input, at, end, levels) : null;
    if (hit !== null && !hit.isLast && count >= limits.parts) {
      onMoreParts();
      break;
    }
    if (hit !== null) {
      closeParts(part, open, hit.level, isHeader ? at : beforeLine(input, at));
      if (isHeader) finishHeader(input, part, at);
      const owner = open[hit.level];
      if (hit.isLast) {
        open.length = hit.level;
        // What follows is the epilogue of the multipart (RFC 2046 section 5.1.1), which belongs to no part.
        part = newPart(next);
        isHeader = false;
      } else if (owner !== undefined) {
        open.length = hit.level + 1;
        part = newPart(next);
        owner.part.children.push(part);
        count += 1;
        isHeader = true;
      }
      levels = levelsOf(open);
    } else if (isHeader) {
      if (end === at) {
        isHeader = false;
        finishHeader(input, part, next);
        if (openMultipart(part, open, limits)) levels = levelsOf(open);
      } else {
        addLine(input, part, at, next, limits);
      }
    }
    at = next;
  }
  if (isHeader) finishHeader(input, part, at);
  closeParts(part, open, 0, input.length);
  return root;
}

/** The first value of a field, unfolded, as Latin-1 text of its bytes; null when there is none. */
export function fieldValue(bytes: Uint8Array, part: MimePart, name: string): string | null {
  const field = part.fields.find((field) => field.name === name);
  return field === undefined ? null : valueOf(bytes, field);
}

/** One field's value, unfolded and trimmed, as Latin-1 text of its bytes. */
export function valueOf(bytes: Uint8Array, field: MimeField): string {
  return asBuffer(bytes)
    .toString('latin1', field.valueStart, field.end)
    .replace(/\r?\n/g, '')
    .trim();
}

/** Every part, parents before children, in the order they stand. */
export function partsOf(root: MimePart): MimePart[] {
  const parts = [root];
  // The list grows while it is read; the tree is small, see the limits.
  for (const part of parts) parts.push(...part.children);
  return parts.sort((one, other) => one.bodyStart - other.bodyStart);
}

/** Splits `type/subtype; name=value; …` (RFC 2045 section 5.1); comments and RFC 2231 are not read. */
export function parseContentType(value: string): { type: string; parameters: Map<string, string> } {
  const parameters = new Map<string, string>();
  const type = /^\s*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)/.exec(value)?.[1]?.toLowerCase() ?? 'text/plain';
  const text = value.slice(0, 4_000);
  for (const match of text.matchAll(/;\s*([\w*.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g)) {
    const name = (match[1] ?? '').toLowerCase();
    const quoted = match[2]?.replace(/\\(.)/g, '$1');
    if (!parameters.has(name)) parameters.set(name, quoted ?? match[3] ?? '');
  }
  return { type, parameters };
}

function newPart(start: number): MimePart {
  return {
    fields: [],
    contentType: 'text/plain',
    parameters: new Map(),
    start,
    bodyStart: start,
    bodyEnd: start,
    children: [],
  };
}

/** Offset of the line's end without CR and LF. */
function lineEnd(input: Buffer, at: number, next: number): number {
  let end = next;
  if (end > at && input[end - 1] === LF) end -= 1;
  if (end > at && input[end - 1] === CR) end -= 1;
  return end;
}

/** A delimiter begins with the line end before it (RFC 2046 section 5.1.1). */
function beforeLine(input: Buffer, at: number): number {
  if (at > 0 && input[at - 1] === LF) return at > 1 && input[at - 2] === CR ? at - 2 : at - 1;
  return at;
}

/** Space and TAB at the end, which may follow a delimiter (RFC 2046 section 5.1.1), do not count. */
function endWithoutBlanks(input: Buffer, at: number, end: number): number {
  let last = end;
  while (last > at && (input[last - 1] === 0x20 || input[last - 1] === 0x09)) last -= 1;
  return last;
}

/** The level of each open boundary; of equal ones the innermost. */
function levelsOf(open: readonly Open[]): ReadonlyMap<string, number> {
  return new Map(open.map(({ boundary }, level) => [boundary, level]));
}

/** The innermost open multipart whose delimiter this line is. One look-up, however many are open. */
function findBoundary(
  input: Buffer,
  at: number,
  end: number,
  levels: ReadonlyMap<string, number>,
): { level: number; isLast: boolean } | null {
  if (input[at + 1] !== DASH) return null;
  const last = endWithoutBlanks(input, at + 2, end);
  if (last - at - 2 > MAX_BOUNDARY_LENGTH + 2) return null;
  const line = input.toString('latin1', at + 2, last);
  const level = levels.get(line) ?? -1;
  const closed = line.endsWith('--') ? (levels.get(line.slice(0, -2)) ?? -1) : -1;
  if (level === -1 && closed === -1) return null;
  return closed > level ? { level: closed, isLast: true } : { level, isLast: false };
}

/** Ends the current part and every multipart inside `level`. */
function closeParts(part: MimePart, open: Open[], level: number, end: number): void {
  part.bodyEnd = Math.max(part.bodyStart, end);
  for (const inner of open.slice(level)) inner.part.bodyEnd = Math.max(inner.part.bodyStart, end);
}

/** Takes one line of a header: a new field, or the continuation of the last. */
function addLine(
  input: Buffer,
  part: MimePart,
  at: number,
  next: number,
  limits: MimeLimits,
): void {
  const last = part.fields.at(-1);
  if (input[at] === 0x20 || input[at] === 0x09) {
    if (last !== undefined && last.end === at) {
      last.end = Math.min(next, last.start + limits.fieldBytes);
    }
    return;
  }
  const window = input.subarray(at, Math.min(next, at + 200));
  const colon = window.indexOf(COLON);
  if (colon <= 0 || part.fields.length >= limits.fields) return;
  const name = window.toString('latin1', 0, colon).trimEnd().toLowerCase();
  if (!/^[!-9;-~]+$/.test(name)) return;
  const end = Math.min(next, at + limits.fieldBytes);
  part.fields.push({ name, start: at, end, valueStart: at + colon + 1 });
}

function finishHeader(input: Buffer, part: MimePart, bodyStart: number): void {
  part.bodyStart = bodyStart;
  const value = fieldValue(input, part, 'content-type');
  if (value === null) return;
  const { type, parameters } = parseContentType(value);
  part.contentType = type;
  part.parameters = parameters;
}

/** Whether the part is a multipart with a boundary, which is now looked for. */
function openMultipart(part: MimePart, open: Open[], limits: MimeLimits): boolean {
  // A delimiter cannot end in white space (RFC 2046 section 5.1.1).
  const boundary = part.parameters.get('boundary')?.trimEnd() ?? '';
  if (!part.contentType.startsWith('multipart/') || boundary === '') return false;
  if (open.length >= limits.depth || boundary.length > MAX_BOUNDARY_LENGTH) return false;
  open.push({ part, boundary });
  return true;
}
