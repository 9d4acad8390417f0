/**
 * A submitted message as it leaves: as it was stored, with a Feedback-ID in front unless its sender set one.
 *
 * Promises clean line ends. Well-formed MIME is not changed, unless the receiver takes ASCII alone.
 */
import { normalizeLines } from '../mime/lines.ts';
import { fieldValue, HEADER_ONLY, splitMime } from '../mime/tree.ts';
import { toSevenBit } from './seven-bit.ts';

export interface SubmittedMessage {
  bytes: Uint8Array;
  /** The whole Feedback-ID field, its line end included. */
  feedbackField: string;
  /** For receivers without 8BITMIME. */
  mustBeAscii?: boolean;
}

/** The bytes to sign. Throws an Error when they must be ASCII and cannot be (see `toSevenBit`). */
export function writeSubmitted({ bytes, feedbackField, mustBeAscii }: SubmittedMessage): Buffer {
  const clean = normalizeLines(bytes);
  const hasFeedbackId = fieldValue(clean, splitMime(clean, HEADER_ONLY), 'feedback-id') !== null;
  const message = hasFeedbackId
    ? clean
    : Buffer.concat([Buffer.from(feedbackField, 'latin1'), clean]);
  if (mustBeAscii !== true) return message;
  const ascii = toSevenBit(message);
  if (ascii === null) throw new Error('it cannot be written in ASCII');
  return ascii;
}
