/**
 * `suppression`: addresses that an account must not mail, as the operator handles them.
 *
 * CSV has the columns email, reason, source, note, created_at (RFC 4180); only email is needed to import.
 */
import { readFileSync } from 'node:fs';

import { OperatorError } from '../base/errors.ts';
import type { ImportResult } from '../flow/suppressions-csv.ts';
import type { Suppression } from '../store/rows.ts';
import type { Call, Group } from './command.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';

type Row = Record<'id' | 'email' | 'reason', string> &
  Record<'source' | 'note', string | null> & { created_at: string };

function shape(one: Suppression): Row {
  const { id, email, reason, source, note } = one;
  return { id, email, reason, source, note, created_at: new Date(one.createdAt).toISOString() };
}

const list = async (call: Call): Promise<Suppression[]> =>
  (await operate(call, 'suppression.list', { account: call.flag('account') })) as Suppression[];

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`cannot read ${file}: ${reason}`, 'Name a CSV file, or - for stdin.');
  }
}

export const suppression: Group = {
  list: {
    synopsis: 'list [--account A]',
    does: 'Suppressed addresses, newest first.',
    flags: { account: 'text' },
    async run(call) {
      const all = await list(call);
      const rows = all.map((one) => [
        [one.email, one.reason, when(one.createdAt)],
        [one.source ?? '-', one.note ?? ''],
      ]);
      const headings = [
        ['ADDRESS', 'REASON', 'SINCE (UTC)'],
        ['SOURCE', 'NOTE'],
      ];
      call.print(all.map(shape), table(headings, rows, 'No address is suppressed.'));
    },
  },
  add: {
    synopsis: 'add EMAIL [--account A] [--reason R] [--note N]',
    does: 'Suppresses an address; the reason is manual unless named.',
    words: [1, 1],
    flags: { account: 'text', reason: 'text', note: 'text' },
    async run(call) {
      const added = (await operate(call, 'suppression.add', {
        account: call.flag('account'),
        email: call.word(0),
        reason: call.flag('reason'),
        note: call.flag('note'),
      })) as Suppression;
      call.print(shape(added), `${added.email} is suppressed (${added.reason}).`);
    },
  },
  remove: {
    synopsis: 'remove EMAIL [--account A] [--note N]',
    does: 'Lets an address be mailed again, whatever the reason was.',
    words: [1, 1],
    flags: { account: 'text', note: 'text' },
    async run(call) {
      const removed = (await operate(call, 'suppression.remove', {
        account: call.flag('account'),
        email: call.word(0),
        note: call.flag('note'),
      })) as { email: string };
      call.print(removed, `${removed.email} is no longer suppressed.`);
    },
  },
  import: {
    synopsis: 'import FILE [--account A]',
    does: 'Adds the addresses of a CSV file (- for standard input); rows that are wrong are named.',
    words: [1, 1],
    flags: { account: 'text' },
    async run(call) {
      const args = { account: call.flag('account'), csv: readText(call.word(0)) };
      const done = (await operate(call, 'suppression.import', args)) as ImportResult;
      for (const { line, message } of done.named) call.output.say(`line ${line}: ${message}`);
      call.print(done, `${done.added} added, ${done.known} known already, ${done.bad} wrong.`);
      return done.bad === 0 ? 0 : 1;
    },
  },
  export: {
    synopsis: 'export [--account A]',
    does: 'Writes CSV to standard output (JSON with --json).',
    flags: { account: 'text' },
    async run(call) {
      if (call.isJson) call.print((await list(call)).map(shape), '');
      else await operate(call, 'suppression.export', { account: call.flag('account') });
    },
  },
};
