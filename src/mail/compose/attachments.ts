/**
 * Attachments: which names, types and ids are allowed, and the form that the MIME composer takes.
 *
 * Promises that the receiver gets the same bytes (base64, never re-encoded text), and that neither name,
 * type nor id can add a header field or a MIME part. Checks return a reason; they never throw.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import type { MailComposerOptions } from 'nodemailer/lib/mail-composer';
import { checkCharacters } from '../header/headers.ts';
import { hasLongLine, isSevenBit, normalizeLines } from '../mime/lines.ts';

export interface ComposeAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null when it is not shown inside the HTML. */
  contentId: string | null;
  content: Uint8Array;
}

type MimeAttachment = NonNullable<MailComposerOptions['attachments']>[number];

/** Longest file name in characters: what common file systems take, and short enough for one line. */
const MAX_FILENAME_LENGTH = 255;
/** type "/" subtype and parameters (RFC 2045 section 5.1), on one short line. */
const CONTENT_TYPE =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?: *; *[\w!#$&^.+-]+=(?:[\w!#$&^.+:-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

/** Why `filename` is not allowed as an attachment's name; null when it is. */
export function checkFilename(filename: string): string | null {
  if (filename === '') return 'must not be empty';
  if (filename.length > MAX_FILENAME_LENGTH) {
    return `must not be longer than ${MAX_FILENAME_LENGTH} characters`;
  }
  return checkCharacters(filename);
}

/** Why `contentType` is not allowed as an attachment's type; null when it is. */
export function checkContentType(contentType: string): string | null {
  const reason = checkCharacters(contentType);
  if (reason !== null) return reason;
  if (contentType.length > MAX_FILENAME_LENGTH || !CONTENT_TYPE.test(contentType)) {
    return 'must be a media type such as application/pdf';
  }
  return /^multipart\//i.test(contentType) ? 'must not be a multipart type' : null;
}

/** Why `contentId` is not allowed as an attachment's Content-ID; null when it is. */
export function checkContentId(contentId: string): string | null {
  const reason = checkCharacters(contentId);
  if (reason !== null) return reason;
  return /^[\x21-\x3b=\x3f-\x7e]{1,250}$/.test(contentId)
    ? null
    : 'must be 1 to 250 visible ASCII characters without angle brackets';
}

/** The attachments in MailComposer's form. Throws for names, types and ids that the checks above refuse. */
export function mimeAttachments(attachments: ComposeAttachment[], html: string): MimeAttachment[] {
  return attachments.map((attachment) => mimeAttachment(attachment, html));
}

function mimeAttachment(attachment: ComposeAttachment, html: string): MimeAttachment {
  const { filename, contentType, contentId } = attachment;
  const reason =
    checkFilename(filename) ??
    checkContentType(contentType) ??
    (contentId === null ? null : checkContentId(contentId));
  if (reason !== null) throw new Error(`attachment ${JSON.stringify(filename)} ${reason}`);
  const content = asBuffer(attachment.content);
  // In a multipart/related only what the HTML shows: mail programs hide the rest.
  const isShown = contentId !== null && html.includes(`cid:${contentId}`);
  return {
    filename,
    ...(isShown && { cid: contentId }),
    ...(contentId !== null && !isShown && { headers: { 'Content-Id': `<${contentId}>` } }),
    ...(/^message\//i.test(contentType)
      ? messageContent(contentType, content)
      : { contentType, content, contentTransferEncoding: 'base64' }),
  };
}

/** An attached message may not be encoded (RFC 2046 section 5.2.1); one that would need it is attached as a file. */
function messageContent(contentType: string, content: Buffer): MimeAttachment {
  const lines = normalizeLines(content);
  if (isSevenBit(lines) && !lines.includes(0) && !hasLongLine(lines)) {
    return { contentType, content: lines, contentTransferEncoding: '7bit' };
  }
  return { contentType: 'application/octet-stream', content, contentTransferEncoding: 'base64' };
}
