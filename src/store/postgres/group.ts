/**
 * Group commit: what is asked while the transaction before it runs goes into the next one.
 *
 * Promises that an item is written whole or not at all, and answered after its commit. Items of a group that failed by the
 * fault of one are run again, each alone. One transaction of a group at a time: its items never wait for each other.
 */
import { failureOf } from './failures.ts';

/** Items of one transaction at most, and bytes of what they carry, unless one alone has more. */
const LARGEST_GROUP = 200;
const LARGEST_BYTES = 4 * 1024 * 1024;

interface Queued<Item, Result> {
  item: Item;
  resolve: (result: Answer<Result>) => void;
  reject: (error: unknown) => void;
}

/** Writes the items as one transaction; one result for each, in their order. An error is that item's alone. */
type Write<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;
/** What an item is answered. */
type Answer<Result> = Exclude<Result, Error>;

export class Group<Item, Result> {
  readonly #write: Write<Item, Result>;
  readonly #onCommit: (commitMs: number, writes: number) => void;
  readonly #bytesOf: (item: Item) => number;
  #queued: Queued<Item, Result>[] = [];
  #isRunning = false;
  readonly #idle: ((nothing: undefined) => void)[] = [];

  constructor(
    write: Write<Item, Result>,
    onCommit: (commitMs: number, writes: number) => void = () => undefined,
    bytesOf: (item: Item) => number = () => 0,
  ) {
    this.#write = write;
    this.#onCommit = onCommit;
    this.#bytesOf = bytesOf;
  }

  add(item: Item): Promise<Answer<Result>> {
    return new Promise((resolve, reject) => {
      this.#queued.push({ item, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      // After all that this turn of the event loop asks for.
      setImmediate(() => void this.#run());
    });
  }

  /** Resolves when all that was asked for is answered. */
  async drained(): Promise<void> {
    while (this.#isRunning) await new Promise((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#queued.length > 0) await this.#runGroup(this.#queued.splice(0, this.#nextSize()));
    this.#isRunning = false;
    for (const tell of this.#idle.splice(0)) tell(undefined);
  }

  #nextSize(): number {
    let bytes = 0;
    const last = this.#queued.findIndex(({ item }, at) => {
      bytes += this.#bytesOf(item);
      return at > 0 && (at >= LARGEST_GROUP || bytes > LARGEST_BYTES);
    });
    return last === -1 ? this.#queued.length : last;
  }

  async #runGroup(group: readonly Queued<Item, Result>[]): Promise<void> {
    const beganAt = performance.now();
    try {
      const results = await this.#write(group.map(({ item }) => item));
      this.#onCommit(performance.now() - beganAt, group.length);
      for (const [at, { resolve, reject }] of group.entries()) {
        const result = results[at];
        if (result instanceof Error) reject(result);
        // `Write` gives one for each.
        else resolve(result as Answer<Result>);
      }
    } catch (error) {
      if (group.length > 1 && failureOf(error) === 'refused') {
        for (const one of group) await this.#runGroup([one]);
      } else {
        for (const { reject } of group) reject(error);
      }
    }
  }
}
