/**
 * A second copy of what was accepted: `[store] require_standby`.
 *
 * Promises that while the server has no synchronous standby that is connected, writes which go through `guarded` are
 * refused at once, and those that are under way after `PATIENCE_MS`: whether these were written is not known. Everything
 * else goes on. Each single commit is looked up apart from this (`replicated.ts`).
 */
import type { Log } from '../../base/log.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { StoreUnconfirmedError } from '../store.ts';
import { NOT_THERE } from './replicated.ts';
import { readStandbys, standbyAdvice } from './standbys.ts';
import type { Session } from './transaction.ts';

const LOOK_EVERY_MS = 1_000;
/** A standby that was restarted is back by then. */
const PATIENCE_MS = 5_000;

/** Looks every second whether there is one. */
export class StandbyWatch {
  readonly #database: Session;
  readonly #log: Log;
  /** `performance.now()`; null: there is one. */
  #missingSince: number | null = null;
  readonly #pending = new PassingMap<number, (error: Error) => void>();
  #nextNumber = 1;
  #isOver = false;
  #wake: () => void = () => undefined;
  #watching: Promise<void> = Promise.resolve();

  private constructor(database: Session, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** Resolves after the first look. */
  static async start(database: Session, log: Log): Promise<StandbyWatch> {
    const watch = new StandbyWatch(database, log);
    await watch.#look();
    watch.#watching = watch.#watch();
    return watch;
  }

  /** Whether there was one at the last look. */
  get isThere(): boolean {
    return this.#missingSince === null;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#wake();
    await this.#watching;
  }

  /** `write`, unless there is no standby now, or none for too long while it is under way: `StoreUnconfirmedError`. */
  async guarded<T>(write: () => Promise<T>): Promise<T> {
    if (this.#missingSince !== null) throw new StoreUnconfirmedError(NOT_THERE);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const number = this.#nextNumber++;
    this.#pending.set(number, reject);
    const forget = (): void => void this.#pending.take(number);
    write().then(resolve, reject).finally(forget).catch(forget);
    return promise;
  }

  async #watch(): Promise<void> {
    for (;;) {
      await this.#pause();
      if (this.#isOver) return;
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const seen = await readStandbys(this.#database).catch(() => null);
    if (seen !== null && seen.synchronous > 0) {
      if (this.#missingSince !== null) this.#log.info('standby_back');
      this.#missingSince = null;
      return;
    }
    const now = performance.now();
    if (this.#missingSince === null) {
      this.#missingSince = now;
      this.#log.error('standby_missing', {
        hint:
          seen === null
            ? 'The database does not answer. Look at its server; sends are taken again by themselves.'
            : `Sends are refused, since [store] require_standby is true. ${standbyAdvice(seen)}`,
      });
    }
    if (now - this.#missingSince < PATIENCE_MS) return;
    for (const reject of this.#pending.values()) reject(new StoreUnconfirmedError(NOT_THERE));
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_EVERY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
