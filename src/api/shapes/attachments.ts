/**
 * Attachments as client libraries write them: base64 text, the JSON of a Node Buffer, a list of integers, or, of a
 * calendar alone, its text.
 *
 * Promises the exact bytes, or a fault with its path. Accepts `content_type` and `content_id` in all spellings the
 * libraries use; a missing type is derived from the file name. Never fetches: an attachment with `path` becomes a link.
 */
import { Type, type Static } from '@sinclair/typebox';
import { sharedFromBase64 } from '../../base/shared-bytes.ts';
import type { DraftAttachment } from '../../flow/draft.ts';
import { checkContentId, checkContentType, checkFilename } from '../../mail/compose/attachments.ts';
import { checkCharacters } from '../../mail/header/headers.ts';
import { joinPath } from './json.ts';
import { hasFault, must, withoutNulls, type Fault } from './check.ts';
import { typeOfFile } from './media-types.ts';

const MAX_URL_LENGTH = 2_048;
const OCTETS = must(
  Type.Array(Type.Integer({ minimum: 0, maximum: 255 })),
  'must be a list of whole numbers from 0 to 255',
);

const Content = must(
  Type.Union([
    Type.String({ description: 'Base64, or the text of a calendar.', contentEncoding: 'base64' }),
    Type.Object({ type: Type.Literal('Buffer'), data: OCTETS }, { additionalProperties: false }),
    OCTETS,
  ]),
  'must be base64 text, {type: "Buffer", data: [...]} or a list of whole numbers from 0 to 255',
);

export const Attachment = Type.Object(
  {
    filename: Type.Optional(Type.String({ minLength: 1, examples: ['invoice.pdf'] })),
    content: Type.Optional(Content),
    path: Type.Optional(
      Type.String({
        description: 'A public https URL. Only on `POST /emails` where the operator allows it.',
      }),
    ),
    content_type: Type.Optional(Type.String({ examples: ['application/pdf'] })),
    contentType: Type.Optional(Type.String({ description: 'Older spelling of `content_type`.' })),
    content_id: Type.Optional(Type.String({ description: 'For `cid:` references in the HTML.' })),
    contentId: Type.Optional(Type.String({ description: 'Older spelling of `content_id`.' })),
    inline_content_id: Type.Optional(
      Type.String({ description: 'Older spelling of `content_id`.' }),
    ),
  },
  {
    additionalProperties: false,
    // Checked below: a link may bring its own name.
    oneOf: [{ required: ['filename', 'content'] }, { required: ['path'] }],
  },
);

type AttachmentValue = Static<typeof Attachment>;

/** An attachment that must be fetched first; `at` is its index in the draft. */
export interface LinkedAttachment {
  at: number;
  url: string;
  path: string;
}

/** The bytes of files that came as lists of numbers, by their attachment. */
export type ListedBytes = Map<unknown, Uint8Array>;

/**
 * The list with the nulls of each item removed, as the schema requires. A file that is a list of numbers is taken out
 * into `listed`, since a schema looks at millions of numbers one by one; a list with anything else in it stays out, so
 * that the schema refuses it.
 */
export function tidyAttachments(value: unknown, listed: ListedBytes): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    const attachment = withoutNulls(item);
    if (typeof attachment !== 'object' || attachment === null || !('content' in attachment)) {
      return attachment;
    }
    const numbers = numbersOf(attachment.content);
    if (numbers === null) return attachment;
    const bytes = octetsOf(numbers);
    const tidy = { ...attachment, content: bytes === null ? false : '' };
    if (bytes !== null) listed.set(tidy, bytes);
    return tidy;
  });
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

/** The attachments of one email; adds faults. `links` collects those with `path`, `listed` is what `tidyAttachments` took out. */
export function readAttachments(
  values: readonly AttachmentValue[],
  options: { path: string; mayLink: boolean; links: LinkedAttachment[]; listed: ListedBytes },
  faults: Fault[],
): DraftAttachment[] {
  return values.flatMap((value, at) => {
    const path = `${options.path}[${at}]`;
    if (hasFault(faults, path)) return [];
    const add = (field: string, words: string | null, isMissing = false): void => {
      if (words === null) return;
      const fieldPath = joinPath(path, field);
      const message = isMissing ? words : `${fieldPath} ${words}.`;
      faults.push({ path: fieldPath, message, isMissing });
    };
    if (value.path !== undefined) {
      if (!options.mayLink) add('path', 'is not supported on this route; send content instead');
      else if (value.content !== undefined)
        add('path', 'and content cannot be combined; send one of them');
      else if (checkUrl(value.path))
        options.links.push({ at, url: value.path, path: `${path}.path` });
      else add('path', 'must be a public https URL');
    } else if (value.content === undefined) {
      add('content', `Missing \`${path}.content\` field.`, true);
    }
    const filename = value.filename ?? (options.mayLink ? fileNameOf(value.path) : null);
    if (filename === null) add('filename', `Missing \`${path}.filename\` field.`, true);
    else add('filename', checkFilename(filename));
    const contentType = value.content_type ?? value.contentType ?? typeOfFile(filename ?? '');
    add('content_type', checkContentType(contentType));
    const contentId = value.content_id ?? value.contentId ?? value.inline_content_id ?? null;
    if (contentId !== null) add('content_id', checkContentId(contentId));
    const content = options.listed.get(value) ?? bytesOf(value.content);
    if (content === null) add('content', 'must be base64');
    return {
      filename: filename ?? '',
      contentType,
      contentId,
      content: content ?? new Uint8Array(0),
    };
  });
}

/** How the text of a calendar begins (RFC 5545 section 3.4); base64 has no colon. */
const CALENDAR = 'BEGIN:VCALENDAR';

/** The bytes of `content`; null for text that is neither base64 nor a calendar, and for lists, which were taken out. */
function bytesOf(content: AttachmentValue['content']): Uint8Array | null {
  if (content === undefined) return new Uint8Array(0);
  if (typeof content !== 'string') return null;
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

function checkUrl(text: string): boolean {
  if (text.length > MAX_URL_LENGTH || checkCharacters(text) !== null) return false;
  const url = URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === '';
}

function fileNameOf(url: string | undefined): string | null {
  const last =
    URL.parse(url ?? '')
      ?.pathname.split('/')
      .at(-1) ?? '';
  if (last === '') return null;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
