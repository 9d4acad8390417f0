/**
 * What a person wants to see of a raw message: subject, HTML, text and attachments.
 *
 * Promises bounded work on any bytes (mime/tree). `withInlineImages` puts images into the HTML as data: URLs
 * up to a limit, so that a page which shows it needs nothing from elsewhere. Never throws.
 */
import { decodeBody, decodeCharset, decodeText, decodeWords } from './text.ts';
import { fieldValue, type MimePart, partsOf, splitMime } from './tree.ts';

/** Bytes of all inline images together that are put into the HTML. */
const MAX_INLINE_BYTES = 8_000_000;
/** Characters that they add to it, where one is shown many times. */
const MAX_INLINE_CHARACTERS = 2 * MAX_INLINE_BYTES;

export interface MessageParts {
  subject: string;
  from: string;
  to: string;
  html: string | null;
  text: string | null;
  attachments: PartAttachment[];
}

export interface PartAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null when the part has none. */
  contentId: string | null;
  /** Bytes as sent, before decoding. */
  byteLength: number;
  /** Decodes the content. */
  content: () => Buffer;
}

/** Subject and sender alone. */
export function readHead(raw: Uint8Array): Pick<MessageParts, 'subject' | 'from'> {
  const root = splitMime(raw);
  const header = (name: string): string => decodeWords(fieldValue(raw, root, name) ?? '');
  return { subject: header('subject'), from: header('from') };
}

/** Reads a whole message. */
export function readParts(raw: Uint8Array): MessageParts {
  const root = splitMime(raw);
  const { htmlPart, textPart, attachments } = sortedLeaves(raw, root);
  const header = (name: string): string => decodeWords(fieldValue(raw, root, name) ?? '');
  return {
    subject: header('subject'),
    from: header('from'),
    to: header('to'),
    html: htmlPart === undefined ? null : decodeText(raw, htmlPart),
    text: textPart === undefined ? null : decodeText(raw, textPart),
    attachments: attachments.map((part) => ({
      filename: filenameOf(raw, part),
      contentType: part.contentType,
      contentId: contentIdOf(raw, part),
      byteLength: part.bodyEnd - part.bodyStart,
      content: () => wholeContent(raw, part),
    })),
  };
}

/** Bytes of all attachments together, decoded. */
export function attachmentBytes(raw: Uint8Array, root: MimePart): number {
  return sortedLeaves(raw, root).attachments.reduce(
    (sum, part) => sum + wholeContent(raw, part).length,
    0,
  );
}

/** What is shown as the message itself, and everything else. */
function sortedLeaves(
  raw: Uint8Array,
  root: MimePart,
): { htmlPart?: MimePart; textPart?: MimePart; attachments: MimePart[] } {
  const leaves = partsOf(root).filter(({ children }) => children.length === 0);
  const shown = leaves.filter((part) => !isAttachment(raw, part));
  const ofType = (type: string): MimePart | undefined =>
    shown.find(({ contentType }) => contentType === type);
  const [htmlPart, textPart] = [ofType('text/html'), ofType('text/plain')];
  const attachments = leaves.filter((part) => part !== htmlPart && part !== textPart);
  return { ...(htmlPart && { htmlPart }), ...(textPart && { textPart }), attachments };
}

function wholeContent(raw: Uint8Array, part: MimePart): Buffer {
  return decodeBody(raw, part, part.bodyEnd - part.bodyStart);
}

function isAttachment(raw: Uint8Array, part: MimePart): boolean {
  return /^\s*attachment/i.test(fieldValue(raw, part, 'content-disposition') ?? '');
}

function filenameOf(raw: Uint8Array, part: MimePart): string {
  const disposition = fieldValue(raw, part, 'content-disposition') ?? '';
  const named = /filename\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(disposition);
  return (
    extended(disposition, EXTENDED_FILENAME) ||
    decodeWords(named?.[1] ?? named?.[2] ?? '') ||
    extended(fieldValue(raw, part, 'content-type') ?? '', EXTENDED_NAME) ||
    decodeWords(part.parameters.get('name') ?? '') ||
    'unnamed'
  );
}

const EXTENDED_FILENAME = /(?<![\w-])filename\*(?:(\d{1,3})(\*?))?\s*=\s*(?:"([^"]*)"|([^;\s]*))/gi;
/** Of Content-Type: older software names an attachment there alone. */
const EXTENDED_NAME = /(?<![\w-])name\*(?:(\d{1,3})(\*?))?\s*=\s*(?:"([^"]*)"|([^;\s]*))/gi;

/** `name*=charset'language'text` (RFC 2231 section 4), whole or in pieces (section 3); empty without one. */
function extended(field: string, pattern: RegExp): string {
  const pieces = new Map<number, string>();
  for (const [, number, star, quoted, bare] of field.matchAll(pattern)) {
    const at = Number(number ?? 0);
    const text = quoted ?? bare ?? '';
    // One that is not encoded has no charset in front either.
    const escaped = star === '' ? text.replaceAll('%', '%25').replaceAll("'", '%27') : text;
    if (!pieces.has(at)) pieces.set(at, escaped);
  }
  let value = '';
  for (let at = 0; pieces.has(at); at += 1) value += pieces.get(at) ?? '';
  const [, charset = '', escaped = value] = /^([\w.:+-]{0,40})'[^']*'(.*)$/.exec(value) ?? [];
  const bytes = escaped.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return decodeCharset(Buffer.from(bytes, 'latin1'), charset || 'utf-8');
}

function contentIdOf(raw: Uint8Array, part: MimePart): string | null {
  return fieldValue(raw, part, 'content-id')?.replace(/^<|>$/g, '') ?? null;
}

/** The HTML with its images inside; RFC 2392: `cid:` names a part by its Content-ID. */
export function withInlineImages(
  html: string,
  attachments: readonly Omit<PartAttachment, 'filename'>[],
): string {
  let left = MAX_INLINE_BYTES;
  const urls = new Map<string, string>();
  for (const { contentId, contentType, byteLength, content } of attachments) {
    if (contentId === null || !contentType.startsWith('image/') || byteLength > left) continue;
    left -= byteLength;
    urls.set(contentId, `data:${contentType};base64,${content().toString('base64')}`);
  }
  let space = MAX_INLINE_CHARACTERS;
  return html.replace(/\bcid:([^"'\s>)]+)/gi, (whole, id: string) => {
    const url = urls.get(id);
    if (url === undefined || url.length > space) return whole;
    space -= url.length;
    return url;
  });
}
