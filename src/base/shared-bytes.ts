/**
 * Bytes that all threads of the process share: passed on to another thread they are not copied.
 *
 * A copy of 13 MB stops a thread for 3 to 10 ms, and where fresh memory is dear, as on some virtual machines, for 100.
 * Promises bytes like any others, but for two things: nobody may change them any more, since other threads read them, and
 * they cannot be handed over (transferred). Below `SHARED_FROM` a copy costs less than memory of its own.
 */

import { asBuffer } from './as-buffer.ts';

/** Bytes. */
const SHARED_FROM = 64 * 1024;

/** `bytes` in shared memory; a view of the same ones where they are few or shared already. */
export function shared(bytes: Uint8Array): Buffer {
  if (bytes.length < SHARED_FROM || bytes.buffer instanceof SharedArrayBuffer)
    return asBuffer(bytes);
  const copy = Buffer.from(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/**
 * The bytes of base64, in shared memory where they are many. What the runtime's decoder passes over is passed over here
 * (white space), and both alphabets are understood.
 */
export function sharedFromBase64(text: string): Buffer {
  if (text.length < SHARED_FROM) return Buffer.from(text, 'base64');
  const bytes = Buffer.from(new SharedArrayBuffer(Math.ceil((text.length * 3) / 4)));
  return bytes.subarray(0, bytes.write(text, 'base64'));
}
