/**
 * Attachments as client libraries write them: base64 text, the JSON of a Node Buffer, a list of integers, or, of a
 * calendar alone, its text.
 *
 * Promises the exact bytes, or a fault with its path. Accepts `content_type` and `content_id` in all spellings the
 * libraries use; a missing type is derived from the file name. Never fetches: an attachment with `path` becomes a link.
 */
import { Type, type Static } from '@sinclair/typebox';
import type { DraftAttachment } from '../../flow/draft.ts';
import { checkContentId, checkContentType, checkFilename } from '../../mail/compose/attachments.ts';
import { bytesOfList, bytesOfText } from '../../mail/compose/file-content.ts';
import { checkCharacters } from '../../mail/header/headers.ts';
import { joinPath } from '../../base/json.ts';
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

/** The bytes of files that are no text any more, by their attachment. */
export type ListedBytes = Map<unknown, Uint8Array>;

/**
 * The list with the nulls of each item removed, as the schema requires. A file that is a list of numbers is taken out
 * into `listed`, since a schema looks at millions of numbers one by one; a list with anything else in it stays out, so
 * that the schema refuses it. So is a file of a large body, of which the thread that read it has made bytes.
 */
export function tidyAttachments(value: unknown, listed: ListedBytes): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    const attachment = withoutNulls(item);
    if (typeof attachment !== 'object' || attachment === null || !('content' in attachment)) {
      return attachment;
    }
    const { content } = attachment;
    const bytes = content instanceof Uint8Array ? content : bytesOfList(content);
    if (bytes === null) return attachment;
    const tidy = { ...attachment, content: bytes === 'faulty' ? false : '' };
    if (bytes !== 'faulty') listed.set(tidy, bytes);
    return tidy;
  });
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
    const content = options.listed.get(value) ?? bytesIn(value.content);
    if (content === null) add('content', 'must be base64');
    return {
      filename: filename ?? '',
      contentType,
      contentId,
      content: content ?? new Uint8Array(0),
    };
  });
}

/** The bytes of `content`; null for text that is neither base64 nor a calendar, and for lists, which were taken out. */
function bytesIn(content: AttachmentValue['content']): Uint8Array | null {
  if (content === undefined) return new Uint8Array(0);
  return typeof content === 'string' ? bytesOfText(content) : null;
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
