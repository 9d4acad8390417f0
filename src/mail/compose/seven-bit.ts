/**
 * A message for servers that accept ASCII only: without 8BITMIME they may drop the eighth bit (RFC 6152 section 1).
 *
 * Promises the same content, encoded anew where it has bytes above 127, or null where that is not allowed: in an
 * attached message (RFC 2045 section 6.4), in a signed part (RFC 1847 section 2.1), in the header. Never throws.
 */
import { isAscii } from 'node:buffer';
import { partsOf, splitMime } from '../mime/tree.ts';
import { sevenBitParts } from './repair-parts.ts';

/** Above the limits of a submitted message (`repair.ts`), so that every field is read. */
const LIMITS = { depth: 50, parts: 1_000, fields: 10_000, fieldBytes: Number.MAX_SAFE_INTEGER };

/** `message` is CRLF-clean and without a DKIM signature: another body needs another signature. */
export function toSevenBit(message: Buffer): Buffer | null {
  const root = splitMime(message, LIMITS);
  if (partsOf(root).some(({ contentType }) => contentType === 'multipart/signed')) return null;
  const { body, encoding } = sevenBitParts(message, root);
  const fields = root.fields
    .filter(({ name }) => encoding === null || name !== 'content-transfer-encoding')
    .map(({ start, end }) => message.toString('latin1', start, end));
  if (encoding !== null) {
    if (!root.fields.some(({ name }) => name === 'mime-version'))
      fields.push('MIME-Version: 1.0\r\n');
    fields.push(`Content-Transfer-Encoding: ${encoding}\r\n`);
  }
  const bytes = Buffer.concat([Buffer.from(`${fields.join('')}\r\n`, 'latin1'), body]);
  return isAscii(bytes) ? bytes : null;
}
