/**
 * A thread's program run by the test itself, on the main thread: what it is told, what it says, and that it ends.
 *
 * A program keeps its state as long as the process does, as a module is loaded once: open and close it in each test.
 */
import { spyOn } from 'bun:test';

import { Packer, Unpacker } from '../../../src/base/packing.ts';
import { Arrivals } from '../../rig/arrivals.ts';

export interface ThreadAtHand {
  /** Messages that reach the thread in one piece. */
  tell(message: unknown): void;
  said: Arrivals<unknown>;
  /** Codes of `process.exit`, which ends nothing here. */
  ended: number[];
  /** The process is itself again. */
  leave(): void;
}

/** Loads the program: `load` imports it. */
export async function threadAtHand(load: () => Promise<unknown>): Promise<ThreadAtHand> {
  const said = new Arrivals<unknown>('messages of the thread');
  const ended: number[] = [];
  const [packer, unpacker] = [new Packer(), new Unpacker()];
  let hear: ((event: MessageEvent) => void) | null = null;
  const listening = spyOn(globalThis, 'addEventListener').mockImplementation(((
    _: string,
    listener: (event: MessageEvent) => void,
  ) => {
    hear = listener;
  }) as typeof addEventListener);
  const posting = spyOn(globalThis, 'postMessage').mockImplementation(((data: unknown[]) => {
    said.push(unpacker.unpack(data));
  }) as typeof postMessage);
  const ending = spyOn(process, 'exit').mockImplementation(((code: number) => {
    ended.push(code);
  }) as typeof process.exit);
  await load();
  listening.mockRestore();
  return {
    tell(message) {
      hear?.(new MessageEvent('message', { data: packer.pack(message) }));
    },
    said,
    ended,
    leave() {
      posting.mockRestore();
      ending.mockRestore();
    },
  };
}
