/**
 * The tables of the database as a transfer shows them: sums without their slots, and a recipient as a whole.
 *
 * Promises that a table or a column which is not shown is named here: what servers have among themselves, leases, and what
 * follows from other columns.
 */
import type { Catalog, ColumnKind, TransferTable } from '../transfer.ts';
import type { Connection } from './connection.ts';

interface Shape {
  /** What is selected from, with the table itself as `t`. */
  from?: string;
  /** Columns that are not shown as they stand there: their expressions. */
  made?: Readonly<Record<string, string>>;
  hidden?: readonly string[];
  /** Columns that are summed over the others. */
  sums?: readonly string[];
}

const SUMS = { hidden: ['slot'] };

const SHAPES: Readonly<Record<string, Shape>> = {
  messages: { hidden: ['searched'] },
  // While a recipient waits, its row in the queue is the newer one.
  recipients: {
    from: 'recipients AS t LEFT JOIN queue AS q ON q.recipient_id = t.id',
    made: {
      attempts: 'COALESCE(q.attempts, t.attempts)',
      updated_at: 'GREATEST(t.updated_at, q.updated_at)',
    },
  },
  queue: {
    from: 'queue AS t JOIN recipients AS r ON r.message_id = t.message_id AND r.id = t.recipient_id',
    made: { updated_at: 'GREATEST(t.updated_at, r.updated_at)' },
    hidden: ['owner', 'lease_until'],
  },
  calls: { hidden: ['owner', 'lease_until'] },
  usage_days: { ...SUMS, sums: ['count'] },
  status_days: { ...SUMS, sums: ['count'] },
  stored_bytes: { ...SUMS, sums: ['bytes'] },
  outcome_hours: { ...SUMS, sums: ['delivered', 'delayed', 'bounced', 'complained', 'failed'] },
  harm_hours: { ...SUMS, sums: ['hard_bounces', 'complaints'] },
};

/** The history of the schema, and what servers have among themselves. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  'migrations',
  'commits',
  'sessions',
  'jobs',
  'rate_takes',
  'revision',
]);

const KINDS: Readonly<Record<string, ColumnKind>> = {
  uuid: 'text',
  text: 'text',
  integer: 'number',
  bigint: 'number',
  boolean: 'flag',
  bytea: 'bytes',
};

/** A column as the server describes it. */
interface ColumnRow {
  table: string;
  column: string;
  type: string;
  isIdentity: boolean;
}

export interface DatabaseTables {
  catalog: Catalog;
  /** Columns, as `table.column`, that are compared by the rules of a language. */
  texts: ReadonlySet<string>;
  /** Columns whose next value a sequence knows. */
  identities: readonly { table: string; column: string }[];
}

const COLUMNS =
  'SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, NULL) AS type,' +
  ` a.attidentity <> '' AS "isIdentity" FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid` +
  ` WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition` +
  ' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum';

/** What the database shows. */
export async function tablesOf(connection: Connection): Promise<DatabaseTables> {
  const { rows } = await connection.ask<ColumnRow>(COLUMNS);
  const catalog: Record<string, Record<string, ColumnKind | null>> = {};
  for (const { table, column, type } of rows) {
    const { hidden = [] } = SHAPES[table] ?? {};
    if (NOT_SHOWN.has(table) || hidden.includes(column)) continue;
    (catalog[table] ??= {})[column] = KINDS[type] ?? null;
  }
  return {
    catalog,
    texts: new Set(
      rows.filter(({ type }) => type === 'text').map(({ table, column }) => `${table}.${column}`),
    ),
    identities: rows.filter(({ isIdentity }) => isIdentity),
  };
}

/** Selects the table's rows as they are carried, in the order of its key. */
export function selectOf(table: TransferTable, texts: ReadonlySet<string>): string {
  const { name, columns, key } = table;
  const { from = name + ' AS t', made = {}, sums = [] } = SHAPES[name] ?? {};
  const expressions = columns.map((column) => {
    const plain = made[column.name] ?? 't.' + column.name;
    return sums.includes(column.name) ? 'sum(' + plain + ')::int8' : plain;
  });
  const others = columns.filter((column) => !sums.includes(column.name));
  const groups =
    sums.length === 0 ? '' : ' GROUP BY ' + others.map((column) => 't.' + column.name).join(', ');
  const order = key.map((column) => {
    // As SQLite sorts: by bytes, and nothing first.
    const by = texts.has(name + '.' + column) ? ' COLLATE "C"' : '';
    return 't.' + column + by + ' NULLS FIRST';
  });
  return (
    'SELECT ' + expressions.join(', ') + ' FROM ' + from + groups + ' ORDER BY ' + order.join(', ')
  );
}

/** Counts the rows of the table as they are carried. */
export function countOf({ name, columns }: TransferTable): string {
  const { sums = [] } = SHAPES[name] ?? {};
  if (sums.length === 0) return 'SELECT count(*) AS count FROM ' + name;
  const others = columns.map((column) => column.name).filter((column) => !sums.includes(column));
  const keys = 'SELECT DISTINCT ' + others.join(', ') + ' FROM ' + name;
  return 'SELECT count(*) AS count FROM (' + keys + ') AS carried';
}

/** Whether rows of the table stand in slots. */
export function isSummed(name: string): boolean {
  return SHAPES[name]?.sums !== undefined;
}
