/**
 * Lets other work in between the chunks of a message that comes fast.
 *
 * As long as each chunk is taken at once, the runtime reads up to eleven of 512 KiB from a socket in one tick of the event
 * loop, or more (docs/runtime-hazards.md H42): a message of 13 MB kept everybody waiting for a tenth of a second.
 * Promises that a large chunk is done in a later tick only, before which the socket is not read, and that small ones
 * wait for nothing. Never fails.
 */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';

/** Bytes. Smaller chunks are no more than what the socket had. */
const LARGE_FROM = 64 * 1024;

/** Makes the socket that writes to `parser` wait after each large chunk. */
export function pauseAfterLarge(parser: SMTPStream): void {
  const write = parser._write.bind(parser);
  parser._write = (chunk: Buffer, encoding, done) => {
    const isLarge = chunk.length >= LARGE_FROM;
    write(chunk, encoding, isLarge ? (error) => void setImmediate(done, error) : done);
  };
}
