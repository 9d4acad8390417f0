/**
 * What a person wants to see of a raw message: its subject, HTML, text and attachments.
 *
 * Promises bounded work on any bytes (mail/mime-tree). Inline images become data: URLs up to a limit, so that
 * the shown HTML needs nothing from elsewhere. Never throws.
 */
import { decodeBody, decodeText, decodeWords } from '../mail/mime-text.ts';
import { fieldValue, type MimePart, partsOf, splitMime } from '../mail/mime-tree.ts';

/** Bytes of all inline images together that are put into the HTML. */
const MAX_INLINE_BYTES = 8_000_000;

export interface MessageParts {
  subject: string;
  from: string;
  to: string;
  html: string | null;
  text: string | null;
  attachments: { filename: string; contentType: string; byteLength: number }[];
}

/** Reads a whole message. */
export function readParts(raw: Uint8Array): MessageParts {
  const root = splitMime(raw);
  const leaves = partsOf(root).filter(({ children }) => children.length === 0);
  const header = (name: string): string => decodeWords(fieldValue(raw, root, name) ?? '');
  const shown = leaves.filter((part) => !isAttachment(raw, part));
  const ofType = (type: string): MimePart | undefined =>
    shown.find(({ contentType }) => contentType === type);
  const [htmlPart, textPart] = [ofType('text/html'), ofType('text/plain')];
  return {
    subject: header('subject'),
    from: header('from'),
    to: header('to'),
    html: htmlPart === undefined ? null : withImages(decodeText(raw, htmlPart), raw, leaves),
    text: textPart === undefined ? null : decodeText(raw, textPart),
    attachments: leaves
      .filter((part) => part !== htmlPart && part !== textPart)
      .map((part) => ({
        filename: filenameOf(raw, part),
        contentType: part.contentType,
        byteLength: part.bodyEnd - part.bodyStart,
      })),
  };
}

function isAttachment(raw: Uint8Array, part: MimePart): boolean {
  return /^\s*attachment/i.test(fieldValue(raw, part, 'content-disposition') ?? '');
}

function filenameOf(raw: Uint8Array, part: MimePart): string {
  const disposition = fieldValue(raw, part, 'content-disposition') ?? '';
  const named = /filename\*?\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(disposition);
  return decodeWords(named?.[1] ?? named?.[2] ?? part.parameters.get('name') ?? '') || 'unnamed';
}

/** RFC 2392: `cid:` names a part by its Content-ID. */
function withImages(html: string, raw: Uint8Array, leaves: readonly MimePart[]): string {
  let left = MAX_INLINE_BYTES;
  const urls = new Map<string, string>();
  for (const part of leaves) {
    const id = fieldValue(raw, part, 'content-id')?.replace(/^<|>$/g, '');
    const size = part.bodyEnd - part.bodyStart;
    if (id === undefined || !part.contentType.startsWith('image/') || size > left) continue;
    left -= size;
    const data = decodeBody(raw, part, MAX_INLINE_BYTES).toString('base64');
    urls.set(id, `data:${part.contentType};base64,${data}`);
  }
  return html.replace(/\bcid:([^"'\s>)]+)/gi, (whole, id: string) => urls.get(id) ?? whole);
}
