/**
 * Response bodies that take memory until a slow client has read them.
 *
 * Promises that the share of a large body is kept for as long as its bytes are, and that it is released when they were
 * read or the client is gone; the socket's own timeout ends a client that does not read. A large body is sent in chunks,
 * each made when there is space for it and in a tick of the event loop of its own, since the runtime asks for all at once
 * where the client is fast; so it has no Content-Length. Never fails.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { textPieces } from '../base/text-pieces.ts';
import type { Share } from './byte-budget.ts';

/** Smaller ones are sent whole: lists and single emails. */
const LARGE_BYTES = 256 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Whether a body of this length (bytes, or characters of JSON) is sent in chunks. */
export function isLarge(payload: Readonly<{ length: number }>): boolean {
  return payload.length > LARGE_BYTES;
}

/** `payload` in chunks; `share` is released at their end. */
export function inChunks(
  payload: string | Uint8Array,
  share: Pick<Share, 'release'>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (typeof payload === 'string') return inPieces(textPieces(payload), share);
  const bytes = viewOf(payload);
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await nextTick();
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

/** The text of all `pieces`, each made when there is space for it; `share` is released at their end, however they end. */
export function inPieces(
  pieces: Iterator<string> | AsyncIterator<string>,
  share: Pick<Share, 'release'>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      await nextTick();
      let isOpen = false;
      try {
        const next = await pieces.next();
        isOpen = next.done !== true;
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      } finally {
        if (!isOpen) share.release();
      }
    },
    async cancel() {
      share.release();
      await pieces.return?.();
    },
  });
}

/** A `Buffer` would give parts of itself in place of copies. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
