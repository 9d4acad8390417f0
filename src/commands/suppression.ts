/**
 * `suppression`: addresses that an account must not mail, as the operator handles them.
 *
 * CSV has the columns email, reason, source, note, created_at (RFC 4180); only email is needed to import.
 */
import { readFileSync } from 'node:fs';

import { OperatorError } from '../base/errors.ts';
import type { ImportRow } from '../control/suppressions.ts';
import type { Suppression } from '../store/rows.ts';
import type { Call, Group } from './command.ts';
import { formatCsv, parseCsv } from './csv.ts';
import { operate } from './operate.ts';
import { table, when } from './output.ts';

const COLUMNS = ['email', 'reason', 'source', 'note', 'created_at'] as const;

type Row = Record<'id' | 'email' | 'reason', string> &
  Record<'source' | 'note', string | null> & { created_at: string };

function shape(one: Suppression): Row {
  const { id, email, reason, source, note } = one;
  return { id, email, reason, source, note, created_at: new Date(one.createdAt).toISOString() };
}

const list = async (call: Call): Promise<Suppression[]> =>
  (await operate(call, 'suppression.list', { account: call.required('account') })) as Suppression[];

/** Rows of a CSV file; its first row names the columns when it has one called email. */
function readRows(file: string): ImportRow[] {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `cannot read ${file}: ${reason}`,
      'Name a CSV file, or - for standard input.',
    );
  }
  const rows = parseCsv(text);
  const head = rows[0]?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
  const columns = head.includes('email') ? head : ['email'];
  const cell = (cells: string[], name: string): string =>
    cells[columns.indexOf(name)]?.trim() ?? '';
  return rows.slice(columns === head ? 1 : 0).map(({ line, cells }) => ({
    line,
    email: cell(cells, 'email'),
    reason: cell(cells, 'reason') || 'manual',
    note: cell(cells, 'note') || null,
  }));
}

export const suppression: Group = {
  list: {
    synopsis: 'list --account A',
    does: 'Suppressed addresses, newest first.',
    flags: { account: 'text' },
    async run(call) {
      const all = await list(call);
      const rows = all.map((one) => [
        one.email,
        one.reason,
        one.source ?? '-',
        when(one.createdAt),
        one.note ?? '',
      ]);
      const headings = ['ADDRESS', 'REASON', 'SOURCE', 'SINCE (UTC)', 'NOTE'];
      call.print(all.map(shape), table(headings, rows, 'No address is suppressed.'));
    },
  },
  add: {
    synopsis: 'add EMAIL --account A [--reason R] [--note N]',
    does: 'Suppresses an address; the reason is manual unless named.',
    words: [1, 1],
    flags: { account: 'text', reason: 'text', note: 'text' },
    async run(call) {
      const added = (await operate(call, 'suppression.add', {
        account: call.required('account'),
        email: call.word(0),
        reason: call.flag('reason'),
        note: call.flag('note'),
      })) as Suppression;
      call.print(shape(added), `${added.email} is suppressed (${added.reason}).`);
    },
  },
  remove: {
    synopsis: 'remove EMAIL --account A [--note N]',
    does: 'Lets an address be mailed again, whatever the reason was.',
    words: [1, 1],
    flags: { account: 'text', note: 'text' },
    async run(call) {
      const removed = (await operate(call, 'suppression.remove', {
        account: call.required('account'),
        email: call.word(0),
        note: call.flag('note'),
      })) as { email: string };
      call.print(removed, `${removed.email} is no longer suppressed.`);
    },
  },
  import: {
    synopsis: 'import FILE --account A',
    does: 'Adds the addresses of a CSV file (- for standard input): all of them, or none.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const rows = readRows(call.word(0));
      const account = call.required('account');
      const done = (await operate(call, 'suppression.import', { account, rows })) as {
        added: number;
        already_suppressed: number;
      };
      call.print(done, `${done.added} added, ${done.already_suppressed} were there already.`);
    },
  },
  export: {
    synopsis: 'export --account A',
    does: 'Writes CSV to standard output.',
    flags: { account: 'text' },
    async run(call) {
      const all = (await list(call)).map(shape);
      const rows = all.map((one) => COLUMNS.map((name) => one[name] ?? ''));
      call.print(all, formatCsv([[...COLUMNS], ...rows]));
    },
  },
};
