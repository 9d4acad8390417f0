/**
 * The background thread: indexing for search, and backups. Nothing here is on a message's way.
 *
 * Promises one answer to every request. Indexing goes in steps, so that other requests get their turn;
 * it is answered when the index has caught up, and tidied up in quiet times. What fails is answered as an
 * error and tried again with the next request.
 */
import type { FromBackground, ToBackground } from './background-messages.ts';
import { backUp } from './backup.ts';
import type { BackupReport } from './backup.ts';
import { Indexer } from './indexer.ts';
import { textOf } from './threads.ts';

declare const self: Worker;

/** Quiet for this long, the index is tidied up: not while mail is busy. */
const QUIET_MS = 5000;

let indexer: Indexer | null = null;
let quiet: ReturnType<typeof setTimeout> | undefined;

/** Lets messages in that have arrived meanwhile. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Steps until the index has caught up. */
async function index(): Promise<null> {
  clearTimeout(quiet);
  while (indexer?.step() === true) await pause();
  quiet = setTimeout(tidy, QUIET_MS);
  return null;
}

function tidy(): void {
  try {
    if (indexer?.tidyStep() === true) quiet = setTimeout(tidy, 0);
  } catch {
    // The disk is full, most likely. Nothing waits for this; the next indexing will say what is wrong.
  }
}

async function perform(message: ToBackground): Promise<BackupReport | null> {
  switch (message.kind) {
    case 'open':
      indexer = new Indexer(message.dataDir, message.now);
      return null;
    case 'index':
      return index();
    case 'backup':
      return backUp(message.dataDir, message.file);
    case 'close':
      clearTimeout(quiet);
      indexer?.close();
      indexer = null;
      return null;
  }
}

function send(answer: FromBackground): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(answer);
}

self.addEventListener('message', ({ data }: MessageEvent<ToBackground>) => {
  perform(data)
    .then(
      (value) => send({ ticket: data.ticket, value }),
      (error: Error) => send({ ticket: data.ticket, error: textOf(error) }),
    )
    .finally(() => {
      // Ends this thread alone; what it had open is closed.
      if (data.kind === 'close') process.exit(0);
    });
});
