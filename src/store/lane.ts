/**
 * A lane: one file with what waits to be written to it.
 *
 * Promises that requests are performed in the order they came, in groups, and answered after their
 * commit; checkpoints come after the answers. Throws when the file can not be written any more.
 */
import type { Database } from 'bun:sqlite';
import { Checkpoints } from './checkpoints.ts';
import { GroupCommit } from './group-commit.ts';
import type { GroupHooks, ItemResult } from './group-commit.ts';
import type { Request } from './verbs.ts';

export interface Waiting {
  ticket: number;
  request: Request;
}

/** Hears the results of one commit, in the order of its group. */
export type Answer = (
  group: readonly Waiting[],
  results: readonly ItemResult[],
  commitMs: number,
) => void;

type Verb = (...args: never[]) => unknown;

export interface LaneOptions {
  db: Database;
  verbs: object;
  hooks: GroupHooks;
  /** Requests in one commit at most. */
  largestGroup: number;
}

export class Lane {
  readonly #db: Database;
  readonly #verbs: ReadonlyMap<string, Verb>;
  readonly #commit: GroupCommit;
  readonly #checkpoints: Checkpoints;
  readonly #largestGroup: number;
  #waiting: Waiting[] = [];

  constructor({ db, verbs, hooks, largestGroup }: LaneOptions) {
    this.#db = db;
    this.#verbs = new Map(Object.entries(verbs) as [string, Verb][]);
    this.#commit = new GroupCommit(db, hooks);
    this.#checkpoints = new Checkpoints(db);
    this.#largestGroup = largestGroup;
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  has(verb: string): boolean {
    return this.#verbs.has(verb);
  }

  take(waiting: Waiting): void {
    this.#waiting.push(waiting);
  }

  /** Commits one group and answers it. Returns the WAL's frames when a checkpoint was held up, else null. */
  step(answer: Answer): number | null {
    const group = this.#waiting.splice(0, this.#largestGroup);
    const beganAt = performance.now();
    const items = group.map((waiting) => () => this.#perform(waiting.request));
    const results = this.#commit.run(items);
    answer(group, results, performance.now() - beganAt);
    return this.#checkpoints.afterCommit();
  }

  close(): void {
    this.#checkpoints.finish();
    this.#db.close();
  }

  #perform({ name, args }: Request): unknown {
    const verb = this.#verbs.get(name);
    if (verb === undefined) throw new Error(`no verb ${name}`);
    return verb(...(args as never[]));
  }
}
