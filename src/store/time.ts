/**
 * The port for the time of a store that several machines share.
 *
 * Machines may disagree about the time; what is due, and leased, goes by one.
 */
export interface TimeStore {
  /** Epoch milliseconds by the store's own clock; null where it has none, and the machine's counts. */
  storeTime(): Promise<number | null>;
}
