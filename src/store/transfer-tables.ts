/**
 * The tables that are carried from one kind of store into another, and their columns, from what both sides show.
 *
 * Promises that nothing is left out by oversight: a table or a column that one side shows and the other does not, or that
 * has no order here, ends the transfer before anything is written. Fails with `OperatorError`.
 */
import { OperatorError } from '../base/errors.ts';
import type { Catalog, TransferTable } from './transfer.ts';

/** Each table with the columns that order its rows; those that others refer to come first. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  settings: ['name'],
  accounts: ['id'],
  api_keys: ['id'],
  operators: ['id'],
  audit: ['seq'],
  domains: ['id'],
  dkim_keys: ['domain_id', 'state'],
  endpoints: ['id'],
  messages: ['id'],
  bodies: ['message_id'],
  attachments: ['message_id', 'position'],
  recipients: ['id'],
  queue: ['recipient_id'],
  attempts: ['message_id', 'id'],
  events: ['message_id', 'id'],
  calls: ['id'],
  call_responses: ['call_id', 'attempt_id'],
  call_attempts: ['endpoint_id', 'id'],
  suppressions: ['seq'],
  confirmed_recipients: ['account_id', 'email'],
  idempotency: ['account_id', 'key'],
  usage_days: ['account_id', 'day'],
  status_days: ['account_id', 'day', 'status'],
  stored_bytes: ['account_id'],
  outcome_hours: ['account_id', 'hour', 'destination', 'provider'],
  harm_hours: ['account_id', 'hour'],
  logs: ['id'],
};

/** What is carried, in the order in which it is. Throws `OperatorError`. */
export function planTransfer(one: Catalog, other: Catalog): TransferTable[] {
  const unknown = [
    ...Object.keys({ ...one, ...other }).filter((name) => !(name in KEYS)),
    ...Object.keys(KEYS).flatMap((name) => missingFrom(name, one, other)),
  ];
  if (unknown.length > 0) {
    throw new OperatorError(
      `This release does not know how to carry over: ${[...new Set(unknown)].join(', ')}`,
      'Run the newest release on both sides. A database for Postrider must hold no tables of other programs.',
    );
  }
  return Object.entries(KEYS).map(([name, key]) => tableOf(name, key, one, other));
}

/** Columns, or the table, that only one side shows. */
function missingFrom(name: string, one: Catalog, other: Catalog): string[] {
  const [ours, theirs] = [one[name], other[name]];
  if (ours === undefined || theirs === undefined) return [name];
  return Object.keys({ ...ours, ...theirs })
    .filter((column) => !(column in ours) || !(column in theirs))
    .map((column) => `${name}.${column}`);
}

function tableOf(
  name: string,
  key: readonly string[],
  one: Catalog,
  other: Catalog,
): TransferTable {
  // In one order, whichever side is the source: the hash of a table says the same both ways.
  const columns = Object.keys(one[name] ?? {}).toSorted();
  return {
    name,
    key,
    columns: columns.map((column) => {
      const kind = one[name]?.[column] ?? other[name]?.[column];
      if (kind === undefined || kind === null) throw new Error(`no side knows ${name}.${column}`);
      return { name: column, kind };
    }),
  };
}
