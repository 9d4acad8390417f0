/**
 * The slots that sums are written into: which row of many gets what a transaction adds.
 *
 * Each kind of transaction has one, another on each node, so that none waits for the row of another. While somebody holds a
 * snapshot (a backup, a long report) the server keeps every earlier version of a row and walks over them at the next
 * change: a node therefore takes new slots after some thousand transactions, each such time called a period. Promises that sums
 * stay what they are while rows of a period that is over are added up into one, and that only few rows are not added up.
 */
import type { Access } from './database.ts';
import { columnOf, part } from './statement.ts';
import { SUM_TABLES, addedTo, keyColumnsOf } from './sum-tables.ts';
import type { SumTable } from './sum-tables.ts';

/** One for each kind of transaction that runs beside others. */
const KINDS = { accept: 0, finish: 1, sent: 2, other: 3 } as const;
const KINDS_COUNT = Object.keys(KINDS).length;
/** Of nodes and periods that differ in their slots; those beyond share some, and so wait for each other. */
const NODES_COUNT = 1 << 12;
const PERIODS_COUNT = 1 << 16;
/** Few enough that versions of a row cost less than a millisecond, many enough that adding up costs little. */
const PERIOD_TRANSACTIONS = 4_000;
/** Of one transaction that adds up: whoever waits for one of them waits for all. */
const ROWS_PER_STEP = 500;

/** Who adds to the sums. */
export type SumKind = keyof typeof KINDS;

/** `period`: null in a transaction of no node. Below zero are the slots that are to be added up. */
export function slotOf(kind: SumKind, node: number, period: number | null): number {
  if (period === null) return node * KINDS_COUNT + KINDS[kind];
  const ofPeriod = (period % PERIODS_COUNT) * NODES_COUNT + (node % NODES_COUNT);
  return -1 - (ofPeriod * KINDS_COUNT + KINDS[kind]);
}

/** The periods of one process. */
export class SumPeriods {
  readonly #addUp: (period: number) => void;
  #transactions = 0;

  /** `addUp` is called for each period that has been over for as long as a period lasts: nothing of it is under way. */
  constructor(addUp: (period: number) => void) {
    this.#addUp = addUp;
  }

  /** The period of one more transaction of `session`. Sessions begin anywhere, so that none takes up the slots of the last one. */
  next(session: string): number {
    const periods = Math.floor(this.#transactions / PERIOD_TRANSACTIONS);
    const isNew = this.#transactions % PERIOD_TRANSACTIONS === 0;
    this.#transactions += 1;
    const period = Number.parseInt(session.slice(-4), 16) + periods;
    if (isNew && periods >= 2) this.#addUp(period - 2);
    return period;
  }
}

/** Adds up what `node` has written in `period`. */
export async function addUpPeriod(database: Access, node: number, period: number): Promise<void> {
  const slots = (Object.keys(KINDS) as SumKind[]).map((kind) => slotOf(kind, node, period));
  await addUp(database, 'slot = ANY($2::int4[])', node, [slots]);
}

/** Adds up all that is left, such as the rows of nodes that were killed. */
export async function addUpRest(database: Access): Promise<void> {
  await addUp(database, 'slot < 0', 0, []);
}

async function addUp(
  database: Access,
  is: string,
  node: number,
  params: readonly number[][],
): Promise<void> {
  const base = slotOf('accept', node, null);
  for (const of of SUM_TABLES) {
    const text = addingUp(of, is, params.length + 2);
    for (;;) {
      const taken = await database.transaction((session) =>
        session.first<{ count: number }>(part(text, ROWS_PER_STEP, ...params, base)),
      );
      if ((taken?.count ?? 0) < ROWS_PER_STEP) break;
    }
  }
}

/** `$1`: of how many rows at most; the parameter `baseAt` is the slot that they go into. Answers how many there were. */
function addingUp(of: SumTable<string>, is: string, baseAt: number): string {
  const columns = keyColumnsOf(of).join(', ');
  const sums = of.sums.map(columnOf);
  const values = sums.map((sum) => 'sum(' + sum + ')::int8');
  const conflict = addedTo(of);
  return (
    `WITH gone AS (DELETE FROM ${of.name} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${of.name} WHERE slot < 0 AND ${is}` +
    ' LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING *),' +
    ` added AS (INSERT INTO ${of.name} (${columns}, slot, ${sums.join(', ')})` +
    ` SELECT ${columns}, $${baseAt}::int4, ${values.join(', ')} FROM gone` +
    ` GROUP BY ${columns} ORDER BY ${columns} ${conflict})` +
    ' SELECT count(*)::int4 AS count FROM gone'
  );
}
