/**
 * Attachments as client libraries write them: base64 text, a Node Buffer's JSON, or plain integers.
 *
 * Promises the very bytes, or a fault that names the place. `content_type` and `content_id` come in all
 * spellings the libraries use; a missing type is inferred from the file name. Never fetches: an
 * attachment with `path` comes out as a link.
 */
import { Type, type Static } from '@sinclair/typebox';
import type { DraftAttachment } from '../../flow/draft.ts';
import { checkContentId, checkContentType, checkFilename } from '../../mail/attachments.ts';
import { checkCharacters } from '../../mail/headers.ts';
import { joinPath } from '../json.ts';
import { hasFault, must, withoutNulls, type Fault } from './check.ts';
import { typeOfFile } from './media-types.ts';

const MAX_URL_LENGTH = 2_048;
const OCTETS = must(
  Type.Array(Type.Integer({ minimum: 0, maximum: 255 })),
  'must be a list of whole numbers from 0 to 255',
);

const Content = must(
  Type.Union([
    Type.String({ description: 'Base64.', contentEncoding: 'base64' }),
    Type.Object({ type: Type.Literal('Buffer'), data: OCTETS }, { additionalProperties: false }),
    OCTETS,
  ]),
  'must be base64 text, {type: "Buffer", data: [...]} or a list of whole numbers',
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
  { additionalProperties: false },
);

type AttachmentValue = Static<typeof Attachment>;

/** An attachment that has to be fetched first; `at` is its place in the draft. */
export interface LinkedAttachment {
  at: number;
  url: string;
  path: string;
}

/** The list with nulls taken out of each member, as the schema wants it. */
export function tidyAttachments(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutNulls) : value;
}

/** The attachments of one email; faults are added. `links` collects those with `path`. */
export function readAttachments(
  values: readonly AttachmentValue[],
  options: { path: string; mayLink: boolean; links: LinkedAttachment[] },
  faults: Fault[],
): DraftAttachment[] {
  return values.flatMap((value, at) => {
    const path = `${options.path}[${at}]`;
    if (hasFault(faults, path)) return [];
    const add = (field: string, words: string | null, isMissing = false): void => {
      if (words === null) return;
      const place = joinPath(path, field);
      const message = isMissing ? words : `${place} ${words}.`;
      faults.push({ path: place, message, isMissing });
    };
    if (value.path !== undefined) {
      if (!options.mayLink) add('path', 'is refused on this route; send the content itself');
      else if (value.content !== undefined) add('path', 'and content exclude each other');
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
    const content = bytesOf(value.content);
    if (content === null) add('content', 'must be base64');
    return {
      filename: filename ?? '',
      contentType,
      contentId,
      content: content ?? new Uint8Array(0),
    };
  });
}

/** The bytes of `content`; null for text that is not base64. */
function bytesOf(content: AttachmentValue['content']): Uint8Array | null {
  if (content === undefined) return new Uint8Array(0);
  if (typeof content !== 'string')
    return Uint8Array.from(Array.isArray(content) ? content : content.data);
  // Some languages break base64 into lines (RFC 2045 section 6.8); some use the URL alphabet.
  const text = /\s/.test(content) ? content.replaceAll(/\s+/g, '') : content;
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) return null;
  const size = text.replace(/=+$/, '').length;
  return size % 4 === 1 ? null : Buffer.from(text, 'base64');
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
