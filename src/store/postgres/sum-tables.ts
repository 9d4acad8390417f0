/**
 * The tables of sums: what is a key, what is added up, and how one row is added to another.
 *
 * Promises the same list to whoever writes sums (`sums.ts`) and to whoever moves them between slots (`sum-slots.ts`).
 */
import { columnOf, table } from './statement.ts';
import type { Table } from './statement.ts';

export interface SumTable<F extends string> extends Table<F> {
  /** The fields that are added up; with `slot` all others are the key. */
  sums: readonly NoInfer<F>[];
}

export const STATUS_DAYS = {
  ...table('status_days', {
    accountId: 'uuid',
    day: 'int4',
    status: 'text',
    slot: 'int4',
    count: 'int8',
  }),
  sums: ['count'],
} as const;
export const USAGE_DAYS = {
  ...table('usage_days', { accountId: 'uuid', day: 'text', slot: 'int4', count: 'int8' }),
  sums: ['count'],
} as const;
export const STORED_BYTES = {
  ...table('stored_bytes', { accountId: 'uuid', slot: 'int4', bytes: 'int8' }),
  sums: ['bytes'],
} as const;
export const OUTCOME_HOURS = {
  ...table('outcome_hours', {
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
  }),
  sums: ['delivered', 'delayed', 'bounced', 'complained', 'failed'],
} as const;
export const HARM_HOURS = {
  ...table('harm_hours', {
    hour: 'int4',
    accountId: 'uuid',
    slot: 'int4',
    hardBounces: 'int8',
    complaints: 'int8',
  }),
  sums: ['hardBounces', 'complaints'],
} as const;

export const SUM_TABLES: readonly SumTable<string>[] = [
  STATUS_DAYS,
  USAGE_DAYS,
  STORED_BYTES,
  OUTCOME_HOURS,
  HARM_HOURS,
];

/** Columns of the key, `slot` apart. */
export function keyColumnsOf({ columns, sums }: SumTable<string>): string[] {
  return Object.keys(columns)
    .filter((field) => field !== 'slot' && !sums.includes(field))
    .map(columnOf);
}

/** What follows the values of an `INSERT`: a row that is there gets them added. */
export function addedTo<F extends string>(of: SumTable<F>): string {
  const sets = of.sums.map(
    (field) => `${columnOf(field)} = ${of.name}.${columnOf(field)} + excluded.${columnOf(field)}`,
  );
  const columns = [...keyColumnsOf(of), 'slot'].join(', ');
  return `ON CONFLICT (${columns}) DO UPDATE SET ${sets.join(', ')}`;
}
