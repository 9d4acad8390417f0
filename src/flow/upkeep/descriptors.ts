/**
 * Watches the descriptors of this process, and lets the listeners rest while nearly all are in use.
 *
 * A listener that cannot accept for want of a descriptor would try again without pause and keep a core busy
 * (docs/runtime-hazards.md H10). Promises that listeners rest within a second of that, that open connections go on
 * meanwhile, and that all of them listen again within seconds of twice the reserve being free. Never throws; a listener
 * that cannot listen again is tried again.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';

import { errorCode } from '../../base/error-code.ts';
import type { Log } from '../../base/log.ts';
import type { Job } from '../../base/periodic.ts';

/** Something that accepts connections, and may stop doing so for a while. */
export interface Restable {
  /** Accepts nothing more; what is open goes on. */
  rest(): void;
  /** Accepts again, at the same address. Rejects when it cannot. */
  listenAgain(): Promise<void>;
}

const EVERY_MS = 1_000;
/** They rest at least this long, so that a crowd that comes back at once does not make them start and stop. */
const REST_MS = 5_000;
const RESERVE = { share: 1 / 8, least: 16, most: 512 };

export class DescriptorWatch implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure = {
    event: 'descriptor_watch_failed',
    hint: 'It is tried again in some seconds. Please report it.',
  };
  readonly #log: Log;
  readonly #limit: number;
  readonly #lowest: () => number | null;
  readonly #listening: Set<Restable>;
  readonly #resting = new Set<Restable>();

  /** `limit`: of descriptors. `lowest`: the lowest number that is free; null: there is none. */
  constructor(
    log: Log,
    listeners: readonly Restable[],
    limit: number = descriptorLimit(),
    lowest: () => number | null = lowestFree,
  ) {
    this.#log = log;
    this.#limit = limit;
    this.#lowest = lowest;
    this.#listening = new Set(listeners);
  }

  everyMs(): number {
    return this.#resting.size > 0 ? REST_MS : EVERY_MS;
  }

  async run(): Promise<void> {
    const { share, least, most } = RESERVE;
    const reserve = Math.min(Math.max(this.#limit * share, least), most);
    const lowest = this.#lowest() ?? this.#limit;
    // The system gives the lowest number that is free: all below it are in use.
    if (lowest >= this.#limit - reserve) this.#rest();
    else if (lowest < this.#limit - 2 * reserve) await this.#listenAgain();
  }

  #rest(): void {
    if (this.#listening.size === 0) return;
    this.#log.error('descriptors_low', {
      limit: this.#limit,
      hint: 'Nearly all open files of this process are in use: nothing is accepted until some are free. Raise LimitNOFILE, or find who opens so many connections.',
    });
    for (const listener of this.#listening) {
      this.#listening.delete(listener);
      this.#resting.add(listener);
      listener.rest();
    }
  }

  async #listenAgain(): Promise<void> {
    if (this.#resting.size === 0) return;
    for (const listener of this.#resting) {
      await listener.listenAgain();
      this.#resting.delete(listener);
      this.#listening.add(listener);
    }
    this.#log.info('descriptors_enough');
  }
}

/** The lowest descriptor that is free; null when none is. */
function lowestFree(): number | null {
  try {
    const descriptor = openSync('/dev/null', 'r');
    closeSync(descriptor);
    return descriptor;
  } catch (error) {
    if (errorCode(error) === 'EMFILE' || errorCode(error) === 'ENFILE') return null;
    throw error;
  }
}

/** How many descriptors this process may have; infinite where the system does not say. */
function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
    return Number.isFinite(limit) ? limit : Infinity;
  } catch {
    return Infinity;
  }
}
