/**
 * Group commit: everything that waits goes into one transaction.
 *
 * When an item fails, the group is undone and run again, each item in a savepoint of its own: savepoints keep a copy of
 * every page they touch, and items that fail are rare. Promises that an item is written whole or not at all, that items
 * run in the order given, and that results come back only after COMMIT. Items may run twice, so that they keep nothing
 * outside the database but what the hooks undo. A full disk undoes the whole group (`StoreFullError` for each); any
 * other failure that is not an item's own throws, and no result of the group may be reported.
 */
import { SQLiteError } from 'bun:sqlite';
import type { Database } from 'bun:sqlite';
import { isDiskFull } from '../full-disk.ts';
import { StoreFullError } from '../store.ts';

export type ItemResult = { value: unknown } | { error: Error };

export interface GroupHooks {
  /** Called after each item: it is part of the group now. */
  itemKept(): void;
  /** Called instead of `itemKept` for an item that failed and was undone alone. */
  itemUndone(): void;
  /** Called before COMMIT, inside the transaction. */
  beforeCommit(): void;
  /** Called after ROLLBACK: no item of the group is written. */
  groupUndone(): void;
}

/** SQLite's primary result codes (sqlite3.h) that are the fault of one statement and its values. */
const ITEM_FAULTS: ReadonlySet<number> = new Set([
  1, // SQLITE_ERROR
  18, // SQLITE_TOOBIG
  19, // SQLITE_CONSTRAINT
  20, // SQLITE_MISMATCH
  25, // SQLITE_RANGE
]);
export const SQLITE_FULL = 13;

export class GroupCommit {
  readonly #db: Database;
  readonly #hooks: GroupHooks;
  readonly #begin;
  readonly #commit;
  readonly #save;
  readonly #release;
  readonly #undo;

  constructor(db: Database, hooks: GroupHooks) {
    this.#db = db;
    this.#hooks = hooks;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#save = db.prepare('SAVEPOINT item');
    this.#release = db.prepare('RELEASE item');
    this.#undo = db.prepare('ROLLBACK TO item');
  }

  /** Runs `items` and commits. Throws when the store cannot go on; the process must end then. */
  run(items: readonly (() => unknown)[]): ItemResult[] {
    try {
      return this.#runTogether(items) ?? this.#runApart(items);
    } catch (error) {
      this.#undoGroup();
      if (!isDiskFull(error)) throw error;
      return items.map(() => ({ error: new StoreFullError('the disk is full') }));
    }
  }

  /** Null, and everything undone, when an item failed by its own fault. */
  #runTogether(items: readonly (() => unknown)[]): ItemResult[] | null {
    this.#begin.run();
    const results: ItemResult[] = [];
    try {
      for (const item of items) {
        results.push({ value: item() });
        this.#hooks.itemKept();
      }
    } catch (error) {
      if (!isOwnFault(error)) throw error;
      this.#undoGroup();
      return null;
    }
    this.#hooks.beforeCommit();
    this.#commit.run();
    return results;
  }

  #runApart(items: readonly (() => unknown)[]): ItemResult[] {
    this.#begin.run();
    const results = items.map((item) => this.#runItem(item));
    this.#hooks.beforeCommit();
    this.#commit.run();
    return results;
  }

  #undoGroup(): void {
    if (this.#db.inTransaction) this.#db.run('ROLLBACK');
    this.#hooks.groupUndone();
  }

  #runItem(item: () => unknown): ItemResult {
    this.#save.run();
    try {
      const value = item();
      this.#release.run();
      this.#hooks.itemKept();
      return { value };
    } catch (error) {
      if (!isOwnFault(error)) throw error;
      this.#undo.run();
      this.#release.run();
      this.#hooks.itemUndone();
      return { error };
    }
  }
}

/** SQLite's primary result code: the low byte of the extended one. Null for other errors. */
export function primaryCode(error: unknown): number | null {
  return error instanceof SQLiteError ? error.errno & 0xff : null;
}

function isOwnFault(error: unknown): error is Error {
  const code = primaryCode(error);
  if (code !== null) return ITEM_FAULTS.has(code);
  return error instanceof Error;
}
