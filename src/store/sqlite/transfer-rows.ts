/**
 * One row of a transfer on its way into a table of SQLite: the reverse of what `transfer-shapes.ts` shows.
 *
 * Promises that content of a message which is not there is a fault and not a row of nobody.
 */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import type { Field } from '../transfer-lines.ts';
import type { TransferTable } from '../transfer.ts';
import { POSITION } from './positions.ts';

/** Takes the values of the table's columns, in their order. */
type AddRow = (values: readonly Field[]) => void;

/** What writes rows of `table`; statements are prepared once, here. */
export function rowWriter(db: Database, table: TransferTable): AddRow {
  const names = table.columns.map(({ name }) => name);
  switch (table.name) {
    case 'messages':
      return messageWriter(db, names);
    case 'bodies':
      return contentWriter(db, 'bodies', names);
    case 'attachments':
      return contentWriter(db, 'attachments', names);
    case 'queue':
      return dueWriter(db, names);
    case 'outcome_hours':
      return outcomeWriter(db, names);
    default:
      return plainWriter(db, table.name, names);
  }
}

function plainWriter(db: Database, table: string, columns: readonly string[]): AddRow {
  const marks = columns.map(() => '?').join(', ');
  const insert = db.prepare(
    'INSERT INTO ' + table + ' (' + columns.join(', ') + ') VALUES (' + marks + ')',
  );
  return (values) => void insert.run(...values);
}

/** Rows come in the order of ids: so do row numbers, and positions in the lists of accounts. */
function messageWriter(db: Database, columns: readonly string[]): AddRow {
  const add = plainWriter(db, 'messages', [...columns, 'seq', POSITION]);
  const account = columns.indexOf('account_id');
  const last = new Map<Field, number>();
  let seq = 0;
  return (values) => {
    const accountId = values[account] ?? null;
    const position = (last.get(accountId) ?? 0) + 1;
    last.set(accountId, position);
    seq += 1;
    add([...values, seq, position]);
  };
}

/** Columns that hold text here and bytes elsewhere. */
const TEXT_OF_BODIES: ReadonlySet<string> = new Set(['html', 'text']);

function contentWriter(
  db: Database,
  table: 'bodies' | 'attachments',
  columns: readonly string[],
): AddRow {
  const others = columns.filter((name) => name !== 'message_id');
  const numberOf = (name: string): string => '?' + (columns.indexOf(name) + 1);
  const taken = others.map((name) =>
    TEXT_OF_BODIES.has(name) ? 'CAST(' + numberOf(name) + ' AS TEXT)' : numberOf(name),
  );
  const names = others.map((name) => (name === 'position' ? POSITION : name));
  const insert = db.prepare(
    'INSERT INTO ' +
      table +
      ' (message_seq, ' +
      names.join(', ') +
      ') SELECT seq, ' +
      taken.join(', ') +
      ' FROM messages WHERE id = ' +
      numberOf('message_id'),
  );
  const at = columns.indexOf('message_id');
  return (values) => {
    if (insert.run(...values).changes === 1) return;
    throw new OperatorError(
      `The table ${table} has content of the message ${String(values[at])}, which does not exist`,
      `Look at the row; when nobody needs it, delete it from ${table} in the database and run it again.`,
    );
  };
}

/** What waits stands in the row of the recipient, which is there already. */
function dueWriter(db: Database, columns: readonly string[]): AddRow {
  const set = db.prepare('UPDATE recipients SET next_attempt_at = ? WHERE id = ?');
  const [due, id] = [columns.indexOf('next_attempt_at'), columns.indexOf('recipient_id')];
  return (values) => void set.run(values[due] ?? null, values[id] ?? null);
}

/** The rows of all accounts together have an empty account. */
function outcomeWriter(db: Database, columns: readonly string[]): AddRow {
  const add = plainWriter(db, 'outcome_hours', columns);
  const account = columns.indexOf('account_id');
  return (values) => add(values.with(account, values[account] ?? ''));
}
