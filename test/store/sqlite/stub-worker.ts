/**
 * Threads that a test plays itself: what the main thread sends them arrives as plain data, and the test answers.
 *
 * Put `StubWorker` into `globalThis.Worker`; `threads` lists those that were started.
 */
import { Packer, Unpacker } from '../../../src/base/packing.ts';
import { Arrivals } from '../../rig/arrivals.ts';

export class StubWorker extends EventTarget {
  /** The name of the thread's file. */
  readonly file: string;
  readonly received = new Arrivals<unknown>('messages to the thread');
  /** Whether the process may end without it. */
  isLeft = false;
  readonly #packer = new Packer();
  readonly #unpacker = new Unpacker();

  constructor(address: string) {
    super();
    this.file = address.split('/').at(-1) ?? '';
    threads.push(this);
  }

  postMessage(data: unknown[]): void {
    this.received.push(this.#unpacker.unpack(data));
  }

  unref(): void {
    this.isLeft = true;
  }

  /** Says `message` to the main thread. */
  say(message: unknown): void {
    this.dispatchEvent(new MessageEvent('message', { data: this.#packer.pack(message) }));
  }

  /** Ends as a thread does that throws. */
  die(message: string): void {
    this.dispatchEvent(new ErrorEvent('error', { message }));
  }
}

/** The threads that were started since the list was emptied. */
export const threads: StubWorker[] = [];
