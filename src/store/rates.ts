/**
 * The port through which nodes tell each other how many requests they have let through.
 *
 * Promises nothing about requests of the last moment, nor after the store was lost: a limit that forgets some seconds is
 * better than a request that waits. A store that one process has to itself has nobody to tell.
 */
export interface RateStore {
  /**
   * Tells the other nodes what `node` let through (null: nothing), and gives what they told in the last `sinceMs`, by the
   * store's own clock. Null: there are no other nodes.
   */
  exchangeTakes(node: string, own: Takes | null, sinceMs: number): Promise<HeardTakes[] | null>;
}

/** What a node let through in a moment. */
export interface Takes {
  /** Steady time. */
  at: number;
  /** By the name of the limit: its window in milliseconds, and how many. */
  windows: [name: string, windowMs: number, count: number][];
}

export interface HeardTakes extends Takes {
  /** The same may be heard again. */
  id: number;
}
