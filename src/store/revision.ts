/**
 * The port for the revision: a number that each change of what a node keeps in memory raises, in the same commit.
 *
 * What is remembered, and so raises it: the halt, accounts, keys that are revoked, domains. A caller says on which
 * revision its decision stands (`AcceptBatch.revision`, `begin`); the store writes nothing where it has another one by
 * then, and fails with `OutdatedError`. Promises that a change resolves only when no write that stands on the revision
 * before can commit any more, on any node. A store that one process has to itself has no revision and compares nothing.
 */
export interface RevisionStore {
  /** The revision now; null: no other process changes this store. */
  revision(): Promise<number | null>;
}

/** The store has another revision than the one that the caller's decision stands on: nothing was written. */
export class OutdatedError extends Error {
  override readonly name = 'OutdatedError';
}
