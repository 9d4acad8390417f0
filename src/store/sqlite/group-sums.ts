/**
 * Sums that a group of writes keeps in memory and writes once, before it commits.
 *
 * Promises that what an undone item or group had added is dropped with it: a counter agrees with the rows it counts after
 * every commit. One write for each key of a group, however many items change it.
 */

/** What the group's commit asks of every sum. */
export interface GroupSum {
  /** The item stands: its changes belong to the group. */
  keep(): void;
  /** The item was undone. */
  drop(): void;
  /** The whole group was undone. */
  forget(): void;
  /** Writes the group's sums; called inside its transaction. */
  flush(): void;
}

export abstract class GroupSums<Change> implements GroupSum {
  #group = new Map<string, Change>();
  #item: [key: string, change: Change][] = [];

  /** Adds the change `by` to the sum `into`. */
  protected abstract merge(into: Change, by: Change): void;
  /** Writes one sum. */
  protected abstract write(sum: Change): void;

  /** Notes a change of the present item. The sum of a key begins as the first `change`, which is kept. */
  protected add(key: string, change: Change): void {
    this.#item.push([key, change]);
  }

  keep(): void {
    if (this.#item.length === 0) return;
    for (const [key, change] of this.#item) {
      const sum = this.#group.get(key);
      if (sum === undefined) this.#group.set(key, change);
      else this.merge(sum, change);
    }
    this.#item = [];
  }

  drop(): void {
    this.#item = [];
  }

  forget(): void {
    this.#item = [];
    this.#renew();
  }

  flush(): void {
    for (const sum of this.#group.values()) this.write(sum);
    this.#renew();
  }

  /** A map that is cleared at each commit would keep every value it ever had (docs/runtime-hazards.md H40). */
  #renew(): void {
    if (this.#group.size > 0) this.#group = new Map();
  }
}
