/**
 * Response bodies that take memory until a slow client has read them.
 *
 * Promises that the share of a large body is kept for as long as its bytes are, and that it is released when they were
 * read or the client is gone; the socket's own timeout ends a client that does not read. A large body is sent in chunks,
 * each made when there is space for it, so it has no Content-Length. Never fails.
 */
import type { Share } from './byte-budget.ts';

/** Smaller ones are sent whole: lists and single emails. */
const LARGE_BYTES = 256 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Whether a body of this length (bytes, or characters of JSON) is sent in chunks. */
export function isLarge(payload: string | Uint8Array): boolean {
  return payload.length > LARGE_BYTES;
}

/** `payload` in chunks; `share` is released at their end. */
export function inChunks(
  payload: string | Uint8Array,
  share: Pick<Share, 'release'>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : viewOf(payload);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      // A copy: what is enqueued may be handed over with its whole buffer.
      const chunk = bytes.slice(at, at + CHUNK_BYTES);
      at += chunk.length;
      controller.enqueue(chunk);
      if (at < bytes.length) return;
      share.release();
      controller.close();
    },
    cancel: () => share.release(),
  });
}

/** A `Buffer` would give parts of itself in place of copies. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
