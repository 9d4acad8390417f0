/**
 * The write queue of one file: the requests that wait to be written to it.
 *
 * Promises that requests run in the order they came, in groups, and that their results are reported after their commit;
 * checkpoints come after the report. Where the disk is full, outcomes are written on the disk reserve, and all else is
 * refused (`StoreFullError`) until that is whole again. Throws when the file cannot be written any more.
 */
import type { Database } from 'bun:sqlite';
import { isDiskFull } from '../full-disk.ts';
import { StoreFullError } from '../store.ts';
import { Checkpoints } from './checkpoints.ts';
import { GroupCommit } from './group-commit.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import type { ReserveGate } from './reserve-gate.ts';
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
  /** The verbs that may use the disk reserve. */
  outcomes: ReadonlySet<string>;
  gate: ReserveGate;
}

const FULL = 'the disk is full';

export class WriteQueue {
  readonly #db: Database;
  readonly #verbs: Map<string, Verb>;
  readonly #commit: GroupCommit;
  readonly #checkpoints: Checkpoints;
  readonly #largestGroup: number;
  readonly #outcomes: ReadonlySet<string>;
  readonly #gate: ReserveGate;
  #queued: QueuedWrite[] = [];
  #isScrubAsked = false;

  constructor({ db, verbs, hooks, largestGroup, scrubVerb, outcomes, gate }: WriteQueueOptions) {
    this.#db = db;
    this.#verbs = new Map<string, Verb>(Object.entries(verbs));
    // A checkpoint cannot run inside of a transaction: it is only noted there.
    this.#verbs.set(scrubVerb, () => {
      this.#isScrubAsked = true;
    });
    this.#commit = new GroupCommit(db, hooks);
    this.#checkpoints = new Checkpoints(db);
    this.#largestGroup = largestGroup;
    this.#outcomes = outcomes;
    this.#gate = gate;
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
    const results = this.#write(group);
    report(group, results, performance.now() - beganAt);
    if (this.#isScrubAsked) {
      this.#isScrubAsked = false;
      this.#checkpoints.truncate();
      return null;
    }
    return this.#checkpoints.afterCommit();
  }

  close(): void {
    try {
      this.#checkpoints.finish();
    } catch (error) {
      // The pages stay in the WAL, which the next start reads.
      if (!isDiskFull(error)) throw error;
    }
    this.#db.close();
  }

  #write(group: readonly QueuedWrite[]): readonly ItemResult[] {
    if (!this.#gate.isShut) {
      const results = this.#run(group);
      if (!results.some(isFull)) return results;
    }
    const outcomes = group.filter(({ request }) => this.#outcomes.has(request.name));
    const results = new Map<QueuedWrite, ItemResult>();
    this.#onReserve(outcomes).forEach((result, at) => {
      const write = outcomes[at];
      if (write !== undefined) results.set(write, result);
    });
    return group.map((write) => results.get(write) ?? { error: new StoreFullError(FULL) });
  }

  #onReserve(outcomes: readonly QueuedWrite[]): ItemResult[] {
    if (outcomes.length === 0) return [];
    for (;;) {
      const results = this.#run(outcomes);
      if (!results.some(isFull) || !this.#gate.giveUp()) return results;
    }
  }

  #run(group: readonly QueuedWrite[]): ItemResult[] {
    return this.#commit.run(
      group.map(
        ({ request }) =>
          () =>
            this.#perform(request),
      ),
    );
  }

  #perform({ name, args }: Request): unknown {
    const verb = this.#verbs.get(name);
    if (verb === undefined) throw new Error(`no verb ${name}`);
    return verb(...args);
  }
}

function isFull(result: ItemResult): boolean {
  return 'error' in result && result.error instanceof StoreFullError;
}
