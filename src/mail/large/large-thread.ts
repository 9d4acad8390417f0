/**
 * The entry of the thread for large messages: one task after the other, its result posted back.
 *
 * What a task leaves behind is collected at once: it is as large as its message, and the next may come much later.
 */
import { perform } from './large-tasks.ts';
import type { Outcome, Posted } from './large-tasks.ts';

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<Posted>) => {
  const outcome = outcomeOf(data);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(outcome, handedOver(outcome));
  setImmediate(() => Bun.gc(true));
});

function outcomeOf({ ticket, kind, input }: Posted): Outcome {
  try {
    return { ticket, output: perform(kind, input) };
  } catch (error) {
    return { ticket, error: error instanceof Error ? error.message : String(error) };
  }
}

/** What goes to the other thread without a copy: the bytes of a repaired message, where they have a memory of their own. */
function handedOver(outcome: Outcome): ArrayBuffer[] {
  if (!('output' in outcome) || !('bytes' in outcome.output)) return [];
  const { buffer, byteLength } = outcome.output.bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
