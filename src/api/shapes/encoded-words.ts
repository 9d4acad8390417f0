/**
 * Encoded words (RFC 2047) in JSON: mail libraries write names and header values as they would stand in a message.
 *
 * Promises that text beyond ASCII stays as it is, and text without a whole encoded word too. Checks nothing: what comes
 * out may hold any character, and goes through the same checks as what a caller wrote plainly.
 */
import { decodeWords } from '../../mail/mime/text.ts';

/** The text with its encoded words read, and the folds between them undone (RFC 5322 section 2.2.3). */
export function readEncodedWords(text: string): string {
  if (!text.includes('=?')) return text;
  const unfolded = text.replaceAll(/\?=\r\n[ \t]+=\?/g, '?= =?');
  // decodeWords takes any white space between words: a line break that is no fold must not get lost there.
  const isPlain = /^[\t\x20-\x7e]*$/.test(unfolded);
  return isPlain && /=\?[^?\s]+\?[BbQq]\?[^?\s]*\?=/.test(unfolded)
    ? decodeWords(unfolded)
    : unfolded;
}
