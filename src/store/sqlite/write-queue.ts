/**
 * The write queue of one file: the requests that wait to be written to it.
 *
 * Promises that requests run in the order they came, in groups, and that their results are reported after their commit;
 * checkpoints come after the report. Throws when the file cannot be written any more.
 */
import type { Database } from 'bun:sqlite';
import { Checkpoints } from './checkpoints.ts';
import { GroupCommit } from './group-commit.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import type { Request } from './verbs.ts';

/** A request with the number that its result is reported under. */
export interface QueuedWrite {
  ticket: number;
  request: Request;
}

/** Receives the results of one commit, in the order of its group. */
export type Report = (
  group: readonly QueuedWrite[],
  results: readonly ItemResult[],
  commitMs: number,
) => void;

/** Arguments come from the main thread as `Request` says; what they are was checked there, by the types of `Store`. */
type Verb = (...args: unknown[]) => unknown;

export interface WriteQueueOptions {
  db: Database;
  verbs: object;
  hooks: GroupHooks;
  /** Requests in one commit at most. */
  largestGroup: number;
  /** The verb that asks for the WAL to be emptied. */
  scrubVerb: 'scrubMail' | 'scrubLog';
}

export class WriteQueue {
  readonly #db: Database;
  readonly #verbs: Map<string, Verb>;
  readonly #commit: GroupCommit;
  readonly #checkpoints: Checkpoints;
  readonly #largestGroup: number;
  #queued: QueuedWrite[] = [];
  #isScrubAsked = false;

  constructor({ db, verbs, hooks, largestGroup, scrubVerb }: WriteQueueOptions) {
    this.#db = db;
    this.#verbs = new Map<string, Verb>(Object.entries(verbs));
    // A checkpoint cannot run inside of a transaction: it is only noted there.
    this.#verbs.set(scrubVerb, () => {
      this.#isScrubAsked = true;
    });
    this.#commit = new GroupCommit(db, hooks);
    this.#checkpoints = new Checkpoints(db);
    this.#largestGroup = largestGroup;
  }

  get isEmpty(): boolean {
    return this.#queued.length === 0;
  }

  has(verb: string): boolean {
    return this.#verbs.has(verb);
  }

  add(write: QueuedWrite): void {
    this.#queued.push(write);
  }

  /** Commits one group and reports it. Returns the WAL's frames when readers blocked a checkpoint, else null. */
  step(report: Report): number | null {
    const group = this.#queued.splice(0, this.#largestGroup);
    const beganAt = performance.now();
    const items = group.map((write) => () => this.#perform(write.request));
    const results = this.#commit.run(items);
    report(group, results, performance.now() - beganAt);
    if (this.#isScrubAsked) {
      this.#isScrubAsked = false;
      this.#checkpoints.truncate();
      return null;
    }
    return this.#checkpoints.afterCommit();
  }

  close(): void {
    this.#checkpoints.finish();
    this.#db.close();
  }

  #perform({ name, args }: Request): unknown {
    const verb = this.#verbs.get(name);
    if (verb === undefined) throw new Error(`no verb ${name}`);
    return verb(...args);
  }
}
