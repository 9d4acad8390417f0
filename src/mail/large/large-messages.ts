/**
 * Messages from `LARGE_FROM` on are read on a thread of their own, so that no message stops everything else.
 *
 * The story of this folder. `smtp` hands over a submitted message, `flow/content` a stored one that somebody wants to
 * see, in its parts or as it leaves, `api` the body of a request, `store/postgres` long texts that it has read. A small
 * one is read at once, on the calling thread: that takes some milliseconds at most, whatever is in it. A large one can
 * take seconds (a line of 13 MB to be encoded anew, four million escapes to be decoded), and goes to `large-thread.ts`,
 * which does the same by `large-tasks.ts`.
 *
 * Starts the thread with the first large message. Rejects when the thread dies, which the caller's client may try again:
 * the next message starts another. One lives on `Context`; several in one process share nothing.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import { validationFailed } from '../../base/errors.ts';
import { ownMemory } from '../../base/kept-bytes.ts';
import type { Log } from '../../base/log.ts';
import { Packer, Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { contentLength } from '../compose/compose.ts';
import type { ComposeInput } from '../compose/compose.ts';
import type { Submission, SubmissionDefaults } from '../compose/repair.ts';
import type { StoredContent } from './stored-content.ts';
import { perform } from './large-tasks.ts';
import type { ImageFile, Kind, Outcome, ParsedBody, Tasks } from './large-tasks.ts';

/** Bytes. The costliest message of this length known takes 30 ms. */
const LARGE_FROM = 256 * 1024;
/** What a text part costs that is made of html: so many times what it costs to write the html. */
const TEXT_COSTS = 7;

interface Pending {
  resolve: (output: Tasks[Kind]['output']) => void;
  reject: (error: Error) => void;
}

/** Starts the thread. */
export function startLargeWorker(): Worker {
  // In the compiled program each thread is an entry point of its own, below the root where this code lies.
  const isCompiled = import.meta.url.startsWith('file:///$bunfs/');
  const path = isCompiled ? './mail/large/large-thread.ts' : './large-thread.ts';
  return new Worker(new URL(path, import.meta.url).href);
}

export class LargeMessages {
  readonly #log: Log;
  readonly #startWorker: () => Worker;
  readonly #pending = new PassingMap<number, Pending>();
  #worker: Worker | null = null;
  /** Of the thread that lives. */
  #packer = new Packer();
  #nextTicket = 1;
  #isStopped = false;

  constructor({ log }: { log: Log }, startWorker = startLargeWorker) {
    this.#log = log;
    this.#startWorker = startWorker;
  }

  /** `repairSubmission` of the message in `parts`. Leaves those without content that have a memory of their own. */
  async repair(
    parts: readonly Buffer[],
    defaults: SubmissionDefaults,
  ): Promise<Submission | { error: string }> {
    const result = await this.#run('repair', { parts, defaults }, lengthOf(parts), parts);
    // A Buffer becomes a plain array on its way between threads.
    return 'error' in result ? result : { ...result, bytes: asBuffer(result.bytes) };
  }

  /** `readContent`. */
  async read(bytes: Uint8Array): Promise<StoredContent> {
    const content = await this.#run('read', { bytes }, bytes.length);
    const attachments = content.attachments.map((one) => ({
      ...one,
      content: asBuffer(one.content),
    }));
    return { ...content, attachments };
  }

  /** The JSON of a body in `parts`, whose memory is taken. Throws `validation_failed` (400 or 422), as `parseJson` does. */
  async parse(parts: readonly Buffer[]): Promise<ParsedBody> {
    const result = await this.#run('parse', { parts }, lengthOf(parts), parts);
    if ('issues' in result) throw validationFailed(result.issues, { status: result.status });
    return result;
  }

  /** The text of bytes in UTF-8. */
  async decode(bytes: Uint8Array): Promise<string> {
    return (await this.#run('decode', { bytes }, bytes.length)).text;
  }

  /** `compose`, with a text part made of the html where `isTextWanted`. Null when the message can never be written. */
  async compose(message: ComposeInput, isTextWanted: boolean): Promise<Buffer | null> {
    const textCost = isTextWanted ? TEXT_COSTS * (message.html?.length ?? 0) : 0;
    const cost = contentLength(message) + textCost;
    const result = await this.#run('compose', { message, isTextWanted }, cost);
    return 'bytes' in result ? asBuffer(result.bytes) : null;
  }

  /** `withInlineImages`. */
  async inline(html: string, images: readonly ImageFile[]): Promise<string> {
    const length = html.length + lengthOf(images.map(({ content }) => content));
    return (await this.#run('inline', { html, images }, length)).html;
  }

  /** Ends the thread; what is under way rejects, and what comes later is done on the calling thread. */
  stop(): void {
    this.#isStopped = true;
    const worker = this.#worker;
    this.#leave(null);
    worker?.terminate();
  }

  /** `length`: of what is worked on, in bytes or characters. `parts`: those whose memory is taken. */
  async #run<K extends Kind>(
    kind: K,
    input: Tasks[K]['input'],
    length: number,
    parts: readonly Uint8Array[] = [],
  ): Promise<Tasks[K]['output']> {
    if (length < LARGE_FROM || this.#isStopped) return perform(kind, input);
    const worker = this.#worker ?? this.#start();
    const ticket = this.#nextTicket++;
    // Referenced while a message is read: otherwise the process could end before.
    if (this.#pending.size === 0) worker.ref();
    const taken = parts.flatMap((part) => ownMemory(part) ?? []);
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject });
      // Long texts are copied twice, but for those that stand in a flat list.
      worker.postMessage(this.#packer.pack({ ticket, kind, input }), taken);
    });
  }

  #start(): Worker {
    const worker = this.#startWorker();
    const unpacker = new Unpacker();
    worker.addEventListener('message', ({ data }: MessageEvent<Packed | Outcome>) => {
      // Posted by this program's other half alone.
      this.#take(Array.isArray(data) ? (unpacker.unpack(data) as Outcome) : data);
    });
    worker.addEventListener('error', ({ message }) => this.#leave(message, worker));
    // Also after an orderly exit, of which no error tells.
    worker.addEventListener('close', () => this.#leave('the thread ended', worker));
    worker.unref();
    this.#worker = worker;
    this.#packer = new Packer();
    return worker;
  }

  #take(outcome: Outcome): void {
    const pending = this.#pending.take(outcome.ticket);
    if ('output' in outcome) pending?.resolve(outcome.output);
    else pending?.reject(new Error(outcome.error));
    if (this.#pending.size === 0) this.#worker?.unref();
  }

  /** `cause`: null when the appliance ends the thread. */
  #leave(cause: string | null, worker = this.#worker): void {
    if (worker === null || worker !== this.#worker) return;
    this.#worker = null;
    const unfinished = this.#pending.takeAll();
    worker.unref();
    for (const { reject } of unfinished) reject(new Error('the thread for large messages ended'));
    if (cause === null) return;
    this.#log.warn('large_message_thread_died', {
      cause: cause.slice(0, 500),
      unfinished: unfinished.length,
      hint: 'What was under way failed for its clients, and the next large message starts another thread. If this repeats, look for a lack of memory.',
    });
  }
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
