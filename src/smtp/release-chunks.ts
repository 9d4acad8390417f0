/**
 * Gives the memory of chunks of a message back as soon as their bytes are copied or dropped.
 *
 * Promises that the chunks of large messages never wait for the collector: it lets them grow to some hundred megabytes
 * while the process is busy (docs/decisions.md D441). A chunk that was released is empty.
 */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';

/** Bytes. Smaller ones cost more to release than they are worth. */
const RELEASED_FROM = 1_024;

/** Releases the memory below `chunk`, all of it. */
export function releaseChunk({ buffer }: Buffer): void {
  const { byteLength } = buffer;
  // A block of the pool that small buffers are cut from belongs to many.
  if (byteLength < RELEASED_FROM || byteLength === Buffer.poolSize) return;
  // A transfer takes the memory away from everybody who has it; to no bytes, it is free at once.
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Releases what a socket read during DATA. smtp-server keeps the last bytes of each chunk and puts a copy of the next
 * one behind them: that copy goes on, and nobody has the chunk itself any more.
 */
export function releaseCopied(parser: SMTPStream): void {
  const feed = parser._feedDataStream.bind(parser);
  parser._feedDataStream = (chunk, done) => {
    const isCopied = parser._lastBytes !== false && parser._lastBytes.length > 0;
    feed(chunk, done);
    if (isCopied && chunk.length === chunk.buffer.byteLength) releaseChunk(chunk);
  };
}
