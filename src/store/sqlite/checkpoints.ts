/**
 * Checkpoints of one file: when the WAL's pages are copied into the database, and when to wait for readers.
 *
 * Promises a WAL that starts from the beginning whenever no reader blocks it, and that a commit never waits for
 * a checkpoint (SQLite's own runs inside the commit; it is off). The result row is what counts: a
 * checkpoint that readers blocked looks like a success otherwise. Fails only as a write would.
 */
import type { Database } from 'bun:sqlite';
import { WAIT_FOR_OTHERS } from './database.ts';
import { SQLITE_FULL, primaryCode } from './group-commit.ts';

/** The row that SQLite answers a checkpoint with: frames in the WAL, and of them in the database. */
interface Row {
  busy: number;
  log: number;
  checkpointed: number;
}

/** Frames are pages of 4 KiB. */
export interface CheckpointLimits {
  /** Frames between two checkpoints. */
  step: number;
  /** From here on readers are waited for a moment: now, and whenever the WAL has grown by half again. */
  urgent: number;
}

export const LIMITS: CheckpointLimits = { step: 1000, urgent: 8000 };

/** How long an urgent checkpoint waits for readers; reads of our own are shorter. */
const WAIT_50_MS = 'PRAGMA busy_timeout = 50';
/** The longest that mail waits for an empty WAL, once in a round of retention. */
const WAIT_250_MS = 'PRAGMA busy_timeout = 250';

export class Checkpoints {
  readonly #db: Database;
  readonly #limits: CheckpointLimits;
  readonly #size;
  readonly #passive;
  readonly #restart;
  readonly #truncate;
  #triedAt = 0;
  #insistAt: number;

  constructor(db: Database, limits: CheckpointLimits = LIMITS) {
    this.#db = db;
    this.#limits = limits;
    this.#insistAt = limits.urgent;
    db.run('PRAGMA wal_autocheckpoint = 0');
    this.#size = db.prepare<Row, []>('PRAGMA wal_checkpoint(NOOP)');
    this.#passive = db.prepare<Row, []>('PRAGMA wal_checkpoint(PASSIVE)');
    this.#truncate = db.prepare<Row, []>('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#restart = db.prepare<Row, []>('PRAGMA wal_checkpoint(RESTART)');
  }

  /** Call it after a commit has been answered. Returns the WAL's frames when readers did not give way. */
  afterCommit(): number | null {
    const frames = this.#size.get()?.log ?? 0;
    if (frames < this.#triedAt) {
      this.#triedAt = 0;
      this.#insistAt = this.#limits.urgent;
    }
    if (frames < this.#triedAt + this.#limits.step) return null;
    this.#triedAt = frames;
    try {
      this.#passive.get();
      if (frames < this.#insistAt) return null;
      this.#insistAt = Math.ceil(frames * 1.5);
      const row = this.#insist();
      const isDone = row !== null && row.busy === 0 && row.checkpointed === row.log;
      return isDone ? null : frames;
    } catch (error) {
      // The pages stay in the WAL, which is safe; there will be another try.
      if (primaryCode(error) === SQLITE_FULL) return null;
      throw error;
    }
  }

  /** Empties the WAL, so that nothing of before is in it; not when readers do not give way. Waits for them a moment. */
  truncate(): void {
    this.#db.run(WAIT_250_MS);
    try {
      this.#truncate.get();
      this.#triedAt = 0;
      this.#insistAt = this.#limits.urgent;
    } catch (error) {
      if (primaryCode(error) !== SQLITE_FULL) throw error;
    } finally {
      this.#db.run(WAIT_FOR_OTHERS);
    }
  }

  /** Everything into the database and the WAL empty, for the end. */
  finish(): void {
    this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  #insist(): Row | null {
    this.#db.run(WAIT_50_MS);
    try {
      return this.#restart.get();
    } finally {
      this.#db.run(WAIT_FOR_OTHERS);
    }
  }
}
