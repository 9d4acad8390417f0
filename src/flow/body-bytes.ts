/**
 * The size of a message's content, near enough for limits: characters of text count as bytes.
 *
 * Reads lengths alone, so it costs nothing for large content. Never fails.
 */
import type { Body } from '../store/rows.ts';

/** Bytes of html, text, submitted bytes and attachments together; header fields are small and left out. */
export function bodyBytes(body: Body): number {
  let bytes = (body.html?.length ?? 0) + (body.text?.length ?? 0) + (body.raw?.length ?? 0);
  for (const attachment of body.attachments) bytes += attachment.content.length;
  return bytes;
}
