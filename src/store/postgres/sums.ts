/**
 * Sums that a transaction changes: gathered while its items are decided, written once with them.
 *
 * Promises sums that agree with the rows they count after every commit. Each kind of transaction writes into a slot of its
 * own, another on each node, so that it never waits for the sums of another; within one, keys are sorted, so that none
 * waits in a circle.
 */
import type { MessageStatus } from '../../base/status.ts';
import { dayOf, harmOf, hourOf, outcomeSumOf } from '../counted.ts';
import type { CountedEvent } from '../counted.ts';
import type { Suppression } from '../rows.ts';
import type { Transaction } from './database.ts';
import { columnOf, insertInto, table } from './statement.ts';
import type { Part, Table } from './statement.ts';
import type { Value } from './values.ts';

/** One for each kind of transaction that runs beside others, and that for each node. */
const SLOTS = { accept: 0, finish: 1, sent: 2, other: 3 } as const;
const SLOTS_OF_NODE = Object.keys(SLOTS).length;
/** Who adds to the sums. */
export type Kind = keyof typeof SLOTS;

const STATUS_DAYS = table('status_days', {
  accountId: 'uuid',
  day: 'int4',
  status: 'text',
  slot: 'int4',
  count: 'int8',
});
const USAGE_DAYS = table('usage_days', {
  accountId: 'uuid',
  day: 'text',
  slot: 'int4',
  count: 'int8',
});
const STORED_BYTES = table('stored_bytes', { accountId: 'uuid', slot: 'int4', bytes: 'int8' });
const OUTCOME_HOURS = table('outcome_hours', {
  accountId: 'uuid',
  hour: 'int4',
  destination: 'text',
  provider: 'text',
  slot: 'int4',
  delivered: 'int8',
  delayed: 'int8',
  bounced: 'int8',
  complained: 'int8',
  failed: 'int8',
});
const HARM_HOURS = table('harm_hours', {
  hour: 'int4',
  accountId: 'uuid',
  slot: 'int4',
  hardBounces: 'int8',
  complaints: 'int8',
});

/** Rows of one table by their keys. */
class Sum<F extends string> {
  readonly #of: Table<F>;
  readonly #added: readonly F[];
  readonly #conflict: string;
  readonly #rows = new Map<string, Record<F, Value>>();

  /** `added`: the fields that are sums, all others are the key. */
  constructor(of: Table<F>, added: readonly NoInfer<F>[]) {
    this.#of = of;
    this.#added = added;
    const key = (Object.keys(of.columns) as F[]).filter((field) => !added.includes(field));
    const sets = added.map(
      (field) => `${columnOf(field)} = ${of.name}.${columnOf(field)} + excluded.${columnOf(field)}`,
    );
    this.#conflict = `ON CONFLICT (${key.map(columnOf).join(', ')}) DO UPDATE SET ${sets.join(', ')}`;
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
  readonly #status = new Sum(STATUS_DAYS, ['count']);
  readonly #usage = new Sum(USAGE_DAYS, ['count']);
  readonly #stored = new Sum(STORED_BYTES, ['bytes']);
  readonly #outcomes = new Sum(OUTCOME_HOURS, [
    'delivered',
    'delayed',
    'bounced',
    'complained',
    'failed',
  ]);
  readonly #harm = new Sum(HARM_HOURS, ['hardBounces', 'complaints']);

  constructor({ node }: Pick<Transaction, 'node'>, kind: Kind) {
    this.#slot = SLOTS[kind] + node * SLOTS_OF_NODE;
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
