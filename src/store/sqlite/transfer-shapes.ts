/**
 * The tables of SQLite's files as a transfer shows them: with ids where the files use row numbers, and with what waits in
 * a table of its own.
 *
 * Promises that a column which is not shown is named here. What is not shown: row numbers and positions, which are given
 * anew in the order of ids; leases, which nobody has while no server runs.
 */
import type { Database } from 'bun:sqlite';
import type { Catalog } from '../transfer.ts';
import { POSITION } from './positions.ts';

/** Where a table differs from what is shown of it. */
export interface Shape {
  /** What is selected from; default: the table. */
  from?: string;
  /** Columns that are no column of the table, or not as they stand there: their expressions. */
  made?: Readonly<Record<string, string>>;
  /** Columns of the table that are not shown. */
  hidden?: readonly string[];
}

const SHAPES: Readonly<Record<string, Shape>> = {
  messages: { hidden: ['seq', POSITION] },
  bodies: {
    from: 'bodies JOIN messages ON messages.seq = bodies.message_seq',
    // Text as bytes: it may hold U+0000.
    made: {
      message_id: 'messages.id',
      html: 'CAST(bodies.html AS BLOB)',
      text: 'CAST(bodies.text AS BLOB)',
    },
    hidden: ['message_seq'],
  },
  attachments: {
    from: 'attachments JOIN messages ON messages.seq = attachments.message_seq',
    made: { message_id: 'messages.id', position: 'attachments.' + POSITION },
    hidden: ['message_seq', POSITION],
  },
  recipients: { hidden: ['next_attempt_at', 'owner', 'lease_until'] },
  queue: {
    from: 'recipients WHERE next_attempt_at IS NOT NULL',
    made: {
      recipient_id: 'id',
      message_id: 'message_id',
      account_id: 'account_id',
      domain: 'domain',
      next_attempt_at: 'next_attempt_at',
      attempts: 'attempts',
      updated_at: 'updated_at',
    },
  },
  calls: { hidden: ['owner', 'lease_until'] },
  // The rows of all accounts together.
  outcome_hours: { made: { account_id: "NULLIF(account_id, '')" } },
  logs: { hidden: ['seq'] },
};

/** The history of the schema, and how far counters are computed, which must have come to its end. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['migrations', 'recounts']);

export type SqliteFile = 'mail' | 'log';

export function shapeOf(table: string): Shape {
  return SHAPES[table] ?? {};
}

/** What the two files show. */
export function catalogOf(mail: Database, log: Database): Catalog {
  const made = Object.entries(SHAPES).flatMap(([name, shape]) =>
    Object.keys(shape.made ?? {}).map((column) => [name, column] as const),
  );
  const catalog: Record<string, Record<string, null>> = {};
  for (const [table, column] of [...columnsIn(mail), ...columnsIn(log), ...made]) {
    const { hidden = [] } = shapeOf(table);
    if (NOT_SHOWN.has(table) || hidden.includes(column)) continue;
    (catalog[table] ??= {})[column] = null;
  }
  return catalog;
}

function columnsIn(db: Database): (readonly [string, string])[] {
  return db
    .prepare<{ table: string; column: string }, []>(
      'SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c' +
        " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all()
    .map(({ table, column }) => [table, column]);
}

/** Which file a table is in. */
export function fileOf(table: string): SqliteFile {
  return table === 'logs' ? 'log' : 'mail';
}
