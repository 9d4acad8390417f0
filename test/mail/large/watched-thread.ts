/** The thread for large messages; it posts `collected` when it asks the runtime to collect what is left behind. */
// oxlint-disable-next-line import/no-unassigned-import -- it is the entry of a thread, and exports nothing
import '../../../src/mail/large/large-thread.ts';

declare const self: Worker;

const collect = Bun.gc;
Bun.gc = (isForced) => {
  collect(isForced);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage({ collected: isForced });
};
