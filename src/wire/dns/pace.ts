/** Work that comes in crowds, one piece in each round of the event loop, so that a crowd delays nothing else. */
import { setImmediate as nextRound } from 'node:timers/promises';

export class Pace {
  #last: Promise<unknown> = Promise.resolve();

  /** What `work` returns, behind all that was asked for before it. `work` must not throw. */
  run<T>(work: () => T): Promise<T> {
    const done = this.#last.then(async () => {
      await nextRound();
      return work();
    });
    this.#last = done;
    return done;
  }
}
