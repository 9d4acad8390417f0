/**
 * The entry of the thread for large messages: its tasks done, their results posted back.
 *
 * What a task leaves behind is collected at once: it is as large as its message, and the next may come much later.
 */
import { Packer, Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import { shared } from '../../base/shared-bytes.ts';
import { perform } from './large-tasks.ts';
import type { Kind, Outcome, Posted, Tasks } from './large-tasks.ts';

declare const self: Worker;

const unpacker = new Unpacker();
const packer = new Packer();

self.addEventListener('message', ({ data: packed }: MessageEvent<Packed>) => {
  // Posted by this program's other half alone.
  void answer(unpacker.unpack(packed) as Posted);
});

async function answer(task: Posted): Promise<void> {
  const outcome = await outcomeOf(task);
  // A client's JSON goes as it is: how deep and how long it is, and how its fields are called, is not ours.
  const posted = task.kind === 'parse' ? outcome : packer.pack(outcome);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(posted);
  setImmediate(() => Bun.gc(true));
}

async function outcomeOf({ ticket, kind, input }: Posted): Promise<Outcome> {
  try {
    return { ticket, output: inSharedMemory(await perform(kind, input)) };
  } catch (error) {
    return { ticket, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Its bytes go to the main thread, and from there to the writer and the signing thread, without being copied. */
function inSharedMemory(output: Tasks[Kind]['output']): Tasks[Kind]['output'] {
  if ('bytes' in output) return { ...output, bytes: shared(output.bytes) };
  if (!('attachments' in output)) return output;
  const attachments = output.attachments.map((one) => ({ ...one, content: shared(one.content) }));
  return { ...output, attachments };
}
