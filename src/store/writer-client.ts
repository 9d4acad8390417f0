/**
 * The main thread's side of the writer: sends requests, hands back answers.
 *
 * Promises that a request's promise settles only by the writer's answer, after its commit. When the
 * writer can not go on, the process ends with exit code 1 at once: nothing unanswered may look done,
 * and restart is the recovery path.
 */
import type { Log } from '../base/log.ts';
import { Packer, Unpacker } from '../base/packing.ts';
import type { Packed } from '../base/packing.ts';
import { errorOf, threadAddress } from './threads.ts';
import type { ErrorText } from './threads.ts';
import type { LogWrites, Request, Writes } from './verbs.ts';
import type { FromWriter, ToWriter } from './writer-messages.ts';

interface Asked {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Hears of every durable commit: how long it took, and how many writes shared it. */
export type OnCommit = (commitMs: number, writes: number) => void;

export class WriterClient {
  readonly #worker: Worker;
  readonly #log: Log;
  readonly #asked = new Map<number, Asked>();
  readonly #packer = new Packer();
  readonly #unpacker = new Unpacker();
  #outbox: ToWriter[] = [];
  #nextTicket = 1;
  #lifecycle: Asked | null = null;
  readonly #onCommit: OnCommit;
  #isOpen = false;

  constructor(log: Log, onCommit: OnCommit) {
    this.#log = log;
    this.#onCommit = onCommit;
    this.#worker = new Worker(threadAddress('writer.ts'));
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
      this.#receive(this.#unpacker.unpack(data) as FromWriter);
    });
    this.#worker.addEventListener('error', ({ message }) => {
      this.#fail({ name: 'Error', message });
    });
  }

  /** Opens and migrates both files. Throws `OperatorError`. */
  open(dataDir: string, now: number): Promise<void> {
    return this.#turn({ kind: 'open', dataDir, now });
  }

  /** Lets the process end without this thread, when the store could not be opened. */
  abandon(): void {
    this.#worker.unref();
  }

  /** Ends the writer after everything sent before. */
  async close(): Promise<void> {
    await this.#turn({ kind: 'close' });
    this.#isOpen = false;
    this.#worker.unref();
  }

  /** Runs one verb in the writer. Rejects with `StoreFullError` or the verb's own error. */
  write<K extends keyof Writes>(
    name: K,
    ...args: Parameters<Writes[K]>
  ): Promise<ReturnType<Writes[K]>> {
    return this.perform({ name, args }) as Promise<ReturnType<Writes[K]>>;
  }

  /** The same for the log file. */
  writeLog<K extends keyof LogWrites>(
    name: K,
    ...args: Parameters<LogWrites[K]>
  ): Promise<ReturnType<LogWrites[K]>> {
    return this.perform({ name, args }) as Promise<ReturnType<LogWrites[K]>>;
  }

  /** `write` for a verb that is known only by name. */
  perform(request: Request): Promise<unknown> {
    if (!this.#isOpen) return Promise.reject(new Error('the store is closed'));
    const ticket = this.#nextTicket++;
    return new Promise((resolve, reject) => {
      this.#asked.set(ticket, { resolve, reject });
      this.#post({ kind: 'write', ticket, request });
    });
  }

  #turn(message: ToWriter): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lifecycle = { resolve: () => resolve(), reject };
      this.#post(message);
    });
  }

  /** One message a turn of the loop: crossing threads costs more than what is in it, and groups grow. */
  #post(message: ToWriter): void {
    this.#outbox.push(message);
    if (this.#outbox.length > 1) return;
    setImmediate(() => {
      const batch = this.#outbox;
      this.#outbox = [];
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
      this.#worker.postMessage(this.#packer.pack(batch));
    });
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case 'ready':
        this.#isOpen = true;
        this.#lifecycle?.resolve(undefined);
        this.#lifecycle = null;
        break;
      case 'closed':
        this.#lifecycle?.resolve(undefined);
        this.#lifecycle = null;
        break;
      case 'done':
        if (message.commitMs !== null) this.#onCommit(message.commitMs, message.answers.length);
        for (const answer of message.answers) {
          const asked = this.#asked.get(answer.ticket);
          this.#asked.delete(answer.ticket);
          if ('error' in answer) asked?.reject(errorOf(answer.error));
          else asked?.resolve(answer.value);
        }
        break;
      case 'held_up':
        this.#log.warn('checkpoint_held_up', {
          walFrames: message.frames,
          hint: 'Something reads the database without end: a backup tool or a shell. The WAL file grows meanwhile.',
        });
        break;
      case 'fatal':
        this.#fail(message.error);
        break;
    }
  }

  #fail(text: ErrorText): void {
    // Before it is open nothing was promised to anybody: the caller reports it.
    if (!this.#isOpen && this.#lifecycle !== null) {
      this.#lifecycle.reject(errorOf(text));
      return;
    }
    this.#log.error('store_failed', {
      error: text,
      hint: 'The database could not be written. Check the disk and its file system; the server ends now and restarts cleanly.',
    });
    process.exit(1);
  }
}
