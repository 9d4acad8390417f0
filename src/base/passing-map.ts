/**
 * A map for what comes and goes with every message or request.
 *
 * The runtime's own Map, whenever its table is full, writes into its old table where the new one is. A table that has
 * survived one collection of young objects counts as alive until a whole collection, and with it all tables made since and
 * every value in them: half of what ever passed through the map (docs/runtime-hazards.md H40). Here each value stands
 * in a cell of its own, which is emptied when the value leaves: the tables then keep keys and empty cells alone, so a
 * key must be short and no object. Order and iteration are those of Map.
 */
export class PassingMap<K extends string | number, V> {
  #cells = new Map<K, { value: V | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  /** The value of `key`, which is no longer here; undefined where there is none. */
  take(key: K): V | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    const { value } = cell;
    cell.value = undefined;
    this.#cells.delete(key);
    return value;
  }

  /** All values, which are no longer here. */
  takeAll(): V[] {
    const values = [...this.values()];
    this.#cells = new Map();
    return values;
  }

  *values(): Generator<V> {
    for (const [, value] of this) yield value;
  }

  *[Symbol.iterator](): Generator<[key: K, value: V]> {
    // A cell that is still in the map has its value, which may be undefined by its type.
    for (const [key, cell] of this.#cells) yield [key, cell.value as V];
  }
}
