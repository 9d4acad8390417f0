/**
 * Asking another thread and being told: each request gets one result, or the error that it failed with.
 *
 * Promises that requests reach the thread in the order they were made, that a thread which has died fails what waits
 * for it, and that what is asked afterwards reaches a new one. Both ends are of one build.
 */
import { Packer, Unpacker } from '../../base/packing.ts';
import type { Packed } from '../../base/packing.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { errorOf, textOf, threadAddress } from './threads.ts';
import type { ErrorText, ThreadFile } from './threads.ts';

interface Question<Request> {
  ticket: number;
  request: Request;
}

type Told = { ticket: number; value: unknown } | { ticket: number; error: ErrorText };

/** The two ends of a promise. `resolve` takes what the thread sent: its type stands where the promise is made. */
interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A thread as it runs: the lists of one `Packer` must reach one `Unpacker`. */
interface Running {
  worker: Worker;
  packer: Packer;
}

/** The side of the main thread. `Request` travels as plain data. */
export class ThreadCalls<Request> {
  readonly #file: ThreadFile;
  readonly #first: () => Request | null;
  readonly #onDeath: (cause: string) => void;
  readonly #pending = new PassingMap<number, Pending>();
  #running: Running | null = null;
  #nextTicket = 1;

  /** `first`: what a new thread is asked before everything else; `onDeath` hears when one has ended by itself. */
  constructor(
    file: ThreadFile,
    first: () => Request | null = () => null,
    onDeath: (cause: string) => void = () => undefined,
  ) {
    this.#file = file;
    this.#first = first;
    this.#onDeath = onDeath;
  }

  /** `T`: what the thread makes of this request. Starts the thread when there is none. */
  ask<T>(request: Request): Promise<T> {
    if (this.#running === null) {
      this.#running = this.#start();
      const first = this.#first();
      // Its failure is what the next request fails with, too.
      if (first !== null) this.#post(first).catch(() => undefined);
    }
    return this.#post(request) as Promise<T>;
  }

  /** Lets the process end without the thread. What is asked from here on starts another. */
  leave(): void {
    this.#running?.worker.unref();
    this.#running = null;
  }

  #post(request: Request): Promise<unknown> {
    const ticket = this.#nextTicket++;
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject });
      const question: Question<Request> = { ticket, request };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
      this.#running?.worker.postMessage(this.#running.packer.pack(question));
    });
  }

  #start(): Running {
    const worker = new Worker(threadAddress(this.#file));
    const unpacker = new Unpacker();
    worker.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
      const told = unpacker.unpack(data) as Told;
      const pending = this.#pending.take(told.ticket);
      if ('error' in told) pending?.reject(errorOf(told.error));
      else pending?.resolve(told.value);
    });
    worker.addEventListener('error', ({ message }) => {
      if (this.#running?.worker === worker) this.#running = null;
      for (const pending of this.#pending.takeAll()) pending.reject(new Error(message));
      this.#onDeath(message);
    });
    return { worker, packer: new Packer() };
  }
}

declare const self: Worker;

/** The side of the thread: `perform` carries out each request; after the one that `isLast` says, the thread ends. */
export function answerCalls<Request>(
  perform: (request: Request) => Promise<unknown>,
  isLast: (request: Request) => boolean,
): void {
  const packer = new Packer();
  const unpacker = new Unpacker();
  const tell = (told: Told): void => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    self.postMessage(packer.pack(told));
  };
  const answer = async ({ ticket, request }: Question<Request>): Promise<void> => {
    try {
      tell({ ticket, value: await perform(request) });
    } catch (error) {
      tell({ ticket, error: textOf(error) });
    }
    // Ends this thread alone; what it had open is closed.
    if (isLast(request)) process.exit(0);
  };
  self.addEventListener('message', ({ data }: MessageEvent<Packed>) => {
    void answer(unpacker.unpack(data) as Question<Request>);
  });
}
