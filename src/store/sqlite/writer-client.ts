/**
 * The main thread's side of the writer: sends requests, hands back results.
 *
 * Promises that a request's promise settles only by the writer's result, after its commit. When the writer cannot go
 * on, the process ends with exit code 1 at once: nothing without a result may look done, and restart is the recovery
 * path.
 */
import type { Log } from '../../base/log.ts';
import { Packer, Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { errorOf, threadAddress } from './threads.ts';
import type { ErrorText } from './threads.ts';
import type { LogWrites, Request, Writes } from './verbs.ts';
import type { FromWriter, ToWriter, WriteResult } from './writer-messages.ts';

/** The two ends of a promise. `resolve` takes what the writer sent: its type stands where the promise is made. */
interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** How long a write waits for the next one, in real time: a hundred messages a second then need a commit each, not two. */
const NEXT_WITHIN_MS = 10;

/** Hears of every durable commit: how long it took, and how many writes shared it. */
export type OnCommit = (commitMs: number, writes: number) => void;

export class WriterClient {
  readonly #worker: Worker;
  readonly #log: Log;
  readonly #pending = new PassingMap<number, Pending>();
  readonly #packer = new Packer();
  readonly #unpacker = new Unpacker();
  #outbox: ToWriter[] = [];
  #isSending = false;
  /** Runs while what is in the outbox waits for the next write. */
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #nextTicket = 1;
  /** Waits for the writer to have opened or closed. */
  #opening: Pending | null = null;
  readonly #onCommit: OnCommit;
  #isOpen = false;
  /** The writer reads nothing that is sent behind its end. */
  #isClosing = false;

  constructor(log: Log, onCommit: OnCommit) {
    this.#log = log;
    this.#onCommit = onCommit;
    this.#worker = new Worker(threadAddress('writer.ts'));
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
      // What `WriterThread` packed: both ends are of one build.
      this.#receive(this.#unpacker.unpack(data) as FromWriter);
    });
    this.#worker.addEventListener('error', ({ message }) => {
      this.#fail({ name: 'Error', message });
    });
  }

  /** Opens and migrates the mail and the log file; `now` in epoch milliseconds. Throws `OperatorError`. */
  open(dataDir: string, now: number): Promise<void> {
    return this.#openOrClose({ kind: 'open', dataDir, now });
  }

  /** Lets the process end without this thread, when the store could not be opened. */
  abandon(): void {
    this.#worker.unref();
  }

  /** Ends the writer after everything sent before. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#openOrClose({ kind: 'close' });
    this.#isOpen = false;
    this.#worker.unref();
  }

  /** Runs one verb in the writer. Rejects with `StoreFullError` or the verb's own error. */
  write<K extends keyof Writes>(
    name: K,
    ...args: Parameters<Writes[K]>
  ): Promise<ReturnType<Writes[K]>> {
    return this.#perform<ReturnType<Writes[K]>>({ name, args });
  }

  /**
   * The same, for what nobody waits for: while the writer has nothing to do, it is sent with the next write, ahead of it,
   * and after 10 ms at the latest. Two commits become one.
   */
  writeWithNext<K extends keyof Writes>(
    name: K,
    ...args: Parameters<Writes[K]>
  ): Promise<ReturnType<Writes[K]>> {
    const mayWait = this.#pending.size === 0;
    return this.#perform<ReturnType<Writes[K]>>({ name, args }, mayWait);
  }

  /** `write` for the log file. */
  writeLog<K extends keyof LogWrites>(
    name: K,
    ...args: Parameters<LogWrites[K]>
  ): Promise<ReturnType<LogWrites[K]>> {
    return this.#perform<ReturnType<LogWrites[K]>>({ name, args });
  }

  /** `T`: what the verb returns in the writer; the methods beside this one take it from the verb's own type. */
  #perform<T>(request: Request, mayWait = false): Promise<T> {
    if (!this.#isOpen || this.#isClosing) return Promise.reject(new Error('the store is closed'));
    const ticket = this.#nextTicket++;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(ticket, { resolve: (value) => resolve(value as T), reject });
      const message: ToWriter = { kind: 'write', ticket, request };
      if (mayWait) this.#keep(message);
      else this.#post(message);
    });
  }

  #openOrClose(message: ToWriter): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve: () => resolve(), reject };
      this.#post(message);
    });
  }

  #keep(message: ToWriter): void {
    this.#outbox.push(message);
    this.#waiting = setTimeout(() => this.#send(), NEXT_WITHIN_MS);
  }

  /** One message a tick of the event loop: crossing threads costs more than what is in it, and groups grow. */
  #post(message: ToWriter): void {
    this.#outbox.push(message);
    if (this.#isSending) return;
    this.#isSending = true;
    clearTimeout(this.#waiting);
    setImmediate(() => {
      this.#isSending = false;
      this.#send();
    });
  }

  #send(): void {
    const batch = this.#outbox;
    this.#outbox = [];
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    this.#worker.postMessage(this.#packer.pack(batch));
  }

  #receive(message: FromWriter): void {
    switch (message.kind) {
      case 'schema_step':
        this.#log.info('schema_step', { ...message.step });
        break;
      case 'ready':
        this.#isOpen = true;
        this.#opened();
        break;
      case 'closed':
        this.#opened();
        break;
      case 'done':
        if (message.commitMs !== null) this.#onCommit(message.commitMs, message.results.length);
        for (const result of message.results) this.#settle(result);
        break;
      case 'checkpoint_blocked':
        this.#log.warn('checkpoint_blocked', {
          wal_frames: message.frames,
          hint: 'A program keeps reading the database: a backup tool or a shell. The WAL file grows until it stops.',
        });
        break;
      case 'fatal':
        this.#fail(message.error);
        break;
    }
  }

  #opened(): void {
    this.#opening?.resolve(undefined);
    this.#opening = null;
  }

  #settle(result: WriteResult): void {
    const pending = this.#pending.take(result.ticket);
    if ('error' in result) pending?.reject(errorOf(result.error));
    else pending?.resolve(result.value);
  }

  #fail(text: ErrorText): void {
    // Until it is open nothing has been promised to anybody: the caller reports it.
    if (!this.#isOpen && this.#opening !== null) {
      this.#opening.reject(errorOf(text));
      return;
    }
    this.#log.error('store_failed', {
      error: text,
      hint: 'The database could not be written. Check the disk and its file system. The server ends and restarts.',
    });
    process.exit(1);
  }
}
