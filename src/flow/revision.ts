/**
 * On which revision of the store this node's memory stands: keys, accounts, domains, the halt.
 *
 * Promises that whatever is remembered was read when the store had this revision or a later one, so that a write which
 * compares it (`AcceptBatch.revision`) rests on nothing that another node has changed. Where the store has a newer one,
 * all of it is dropped in one step with the new number. A look runs every second, for what no write compares. A store
 * that this process has to itself has no revision, and costs nothing here. Fails as the store fails.
 */
import type { Job } from '../base/periodic.ts';
import type { RevisionStore } from '../store/revision.ts';
import { StoreUnwritableError } from '../store/store.ts';
import type { HaltSwitch } from './halt-switch.ts';

const EVERY_MS = 1_000;

interface Parts {
  store: RevisionStore;
  halt: HaltSwitch;
}

export class Revision implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure = {
    event: 'revision_failed',
    hint: 'What other nodes have changed is not noticed now, but before mail is accepted; look at the database.',
  };
  readonly #parts: Parts;
  readonly #drops: (() => void)[] = [];
  #number: number | null;
  #current: Promise<void> = Promise.resolve();
  /** The look that begins when the present one has ended. */
  #next: Promise<void> | null = null;

  private constructor(parts: Parts, number: number | null) {
    this.#parts = parts;
    this.#number = number;
  }

  /** Begins with what the store says, and with its halt. */
  static async read(parts: Parts): Promise<Revision> {
    const number = await parts.store.revision();
    // Read after the number, so that it is not older.
    await parts.halt.load();
    return new Revision(parts, number);
  }

  /** What memory stands on; null: no other process changes this store. */
  get number(): number | null {
    return this.#number;
  }

  /** Has `drop` called after each change by another node: the halt is the present one then. It must not throw. */
  onChange(drop: () => void): void {
    this.#drops.push(drop);
  }

  /** Resolves when memory stands on what the store said after this call. */
  check(): Promise<void> {
    if (this.#number === null) return Promise.resolve();
    // A look that has begun already may have read before what the caller wants to know.
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      const look = this.#look();
      this.#current = look.catch(() => undefined);
      return look;
    });
    return this.#next;
  }

  everyMs(): number {
    return EVERY_MS;
  }

  async run(): Promise<void> {
    try {
      await this.check();
    } catch (error) {
      // The queue says so; here it would be said every second.
      if (!(error instanceof StoreUnwritableError)) throw error;
    }
  }

  async #look(): Promise<void> {
    const { store, halt } = this.#parts;
    const number = await store.revision();
    if (number === this.#number) return;
    await halt.load();
    this.#number = number;
    for (const drop of this.#drops) drop();
  }
}
