/**
 * The entry of the signing thread: hands what the main thread posts to `SigningWork`, and its results back.
 *
 * Says `started` once it can take requests. An error that is thrown here ends the thread; the main thread sees that
 * and starts another (see signing.ts).
 */
import { Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import type { FromSigningThread, ToSigningThread } from './signing-protocol.ts';
import { SigningWork } from './signing-work.ts';

declare const self: Worker;

/** Bytes are handed over, not copied. */
function post(message: FromSigningThread): void {
  const handedOver: ArrayBuffer[] = [];
  for (const result of message.kind === 'signed' ? message.results : []) {
    if ('bytes' in result) handedOver.push(result.bytes.buffer);
  }
  self.postMessage(message, handedOver);
}

const work = new SigningWork(post);
const unpacker = new Unpacker();

self.addEventListener('message', ({ data: packed }: MessageEvent<Packed>) => {
  // Posted by this program's other half alone.
  void work.take(unpacker.unpack(packed) as ToSigningThread);
});

post({ kind: 'started' });
