/** A stored message in its parts, with all that is in them decoded. Pure; never throws. */
import { isReservedHeader } from '../header/headers.ts';
import { readParts } from '../mime/message-parts.ts';
import { decodeWords } from '../mime/text.ts';
import { HEADER_ONLY, splitMime, valueOf } from '../mime/tree.ts';

export interface StoredContent {
  html: string | null;
  text: string | null;
  /** Those that a sender can set, as spelled there. */
  headers: [name: string, value: string][];
  attachments: StoredAttachment[];
}

export interface StoredAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null when the part has none. */
  contentId: string | null;
  content: Buffer;
}

/** Reads a whole message. */
export function readContent(raw: Uint8Array): StoredContent {
  const { html, text, attachments } = readParts(raw);
  const headers = splitMime(raw, HEADER_ONLY)
    .fields.filter(({ name }) => !isReservedHeader(name))
    .map((field): [string, string] => [
      // The parsed name is in lower case.
      Buffer.from(raw.subarray(field.start, field.valueStart - 1))
        .toString('latin1')
        .trim(),
      decodeWords(valueOf(raw, field)),
    ]);
  return {
    html,
    text,
    headers,
    attachments: attachments.map(({ filename, contentType, contentId, content }) => ({
      filename,
      contentType,
      contentId,
      content: content(),
    })),
  };
}
