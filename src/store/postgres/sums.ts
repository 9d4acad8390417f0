/**
 * Sums that a transaction changes: gathered while its items are decided, written once with them.
 *
 * Promises sums that agree with the rows they count after every commit. Each kind of transaction writes into a slot of its
 * own (`sum-slots.ts`), so that it never waits for the sums of another; within one, keys are sorted, so that none waits in a
 * circle.
 */
import type { MessageStatus } from '../../base/status.ts';
import { dayOf, harmOf, hourOf, outcomeSumOf } from '../counted.ts';
import type { CountedEvent } from '../counted.ts';
import type { Suppression } from '../rows.ts';
import type { Transaction } from './database.ts';
import { insertInto } from './statement.ts';
import type { Part, Table } from './statement.ts';
import { slotOf } from './sum-slots.ts';
import type { SumKind } from './sum-slots.ts';
import {
  HARM_HOURS,
  OUTCOME_HOURS,
  STATUS_DAYS,
  STORED_BYTES,
  USAGE_DAYS,
  addedTo,
} from './sum-tables.ts';
import type { SumTable } from './sum-tables.ts';
import type { Value } from './values.ts';

/** Rows of one table by their keys. */
class Sum<F extends string> {
  readonly #of: Table<F>;
  readonly #added: readonly F[];
  readonly #conflict: string;
  readonly #rows = new Map<string, Record<F, Value>>();

  constructor(of: SumTable<F>) {
    this.#of = of;
    this.#added = of.sums;
    this.#conflict = addedTo(of);
  }

  add(key: string, row: Record<F, Value>): void {
    const sum = this.#rows.get(key);
    if (sum === undefined) this.#rows.set(key, { ...row });
    else for (const field of this.#added) sum[field] = Number(sum[field]) + Number(row[field]);
  }

  parts(): Part[] {
    const changed = [...this.#rows]
      .filter(([, row]) => this.#added.some((field) => row[field] !== 0))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, row]) => row);
    return changed.length === 0 ? [] : [insertInto(this.#of, changed, this.#conflict)];
  }
}

/** The sums of one transaction. */
export class Sums {
  readonly #slot: number;
  readonly #status = new Sum(STATUS_DAYS);
  readonly #usage = new Sum(USAGE_DAYS);
  readonly #stored = new Sum(STORED_BYTES);
  readonly #outcomes = new Sum(OUTCOME_HOURS);
  readonly #harm = new Sum(HARM_HOURS);

  constructor({ node, period }: Pick<Transaction, 'node' | 'period'>, kind: SumKind) {
    this.#slot = slotOf(kind, node, period);
  }

  /** One message of `createdAt` came into `status` (+1) or left it (-1). */
  status(accountId: string, createdAt: number, status: MessageStatus, by: 1 | -1): void {
    const day = dayOf(createdAt);
    const row = { accountId, day, status, slot: this.#slot, count: by };
    this.#status.add(`${accountId} ${day} ${status}`, row);
  }

  /** Sends of a UTC day. */
  usage(accountId: string, day: string, count: number): void {
    this.#usage.add(`${accountId} ${day}`, { accountId, day, slot: this.#slot, count });
  }

  /** Content of `bytes` came, or went when it is negative. */
  stored(accountId: string, bytes: number): void {
    this.#stored.add(accountId, { accountId, slot: this.#slot, bytes });
  }

  /** An event of real mail was recorded. */
  outcome(event: CountedEvent): void {
    const sum = outcomeSumOf(event);
    if (sum === null) return;
    const { hour, destination, provider, outcome } = sum;
    for (const owner of [event.accountId, null]) {
      const none = { delivered: 0, delayed: 0, bounced: 0, complained: 0, failed: 0 };
      const key = { accountId: owner, hour, destination, provider, slot: this.#slot };
      this.#outcomes.add(`${owner ?? ''} ${hour} ${destination} ${provider}`, {
        ...key,
        ...none,
        [outcome]: 1,
      });
    }
  }

  /** A suppression that is harm was added or became stronger. */
  harm(row: Pick<Suppression, 'accountId' | 'reason' | 'createdAt'>): void {
    const { accountId } = row;
    const hour = hourOf(row.createdAt);
    this.#harm.add(`${hour} ${accountId}`, { hour, accountId, slot: this.#slot, ...harmOf(row) });
  }

  /** What writes them. */
  parts(): Part[] {
    return [this.#status, this.#usage, this.#stored, this.#outcomes, this.#harm].flatMap((sum) =>
      sum.parts(),
    );
  }
}
