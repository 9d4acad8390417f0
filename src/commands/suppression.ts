/**
 * `suppression`: addresses that an account must not mail, as the operator handles them.
 *
 * CSV has the columns email, reason, source, note, created_at (RFC 4180); an import needs only email.
 */
import { Value } from '@sinclair/typebox/value';

import type { ResultOf } from '../control/operations.ts';
import { SUPPRESSION_REASONS } from '../control/shapes.ts';
import { SuppressionList } from '../control/suppressions.ts';
import { piecesWithHeader } from '../flow/suppressions/csv-import.ts';
import { ACCOUNT } from './account-option.ts';
import type { Call, Group } from './command.ts';
import { readText } from './files.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { argument, choice, sentence } from './parameter.ts';

const EMAIL = argument('EMAIL', 'Address, in upper or lower case');
const REASON = choice(
  'reason',
  'R',
  'hard_bounce, complaint, unsubscribe or manual (default: manual)',
  SUPPRESSION_REASONS,
);
const NOTE = sentence('note', 'N', 'One sentence on why, shown in the list');
const LOGGED_NOTE = sentence('note', 'N', 'One sentence on why, written to the log');
const FILE = argument('FILE', 'CSV file, or - for standard input', { completion: 'file' });
const FILE_HINT = 'Name a CSV file, or use - for standard input.';

/** Characters of a file that travel in one request: some milliseconds of work for the server. */
const PIECE_LENGTH = 256 * 1024;
/** Wrong rows that are named; more are only counted. */
const MOST_NAMED = 20;

type Suppression = ResultOf<'suppression.add'>;
type Row = Record<'id' | 'email' | 'reason', string> &
  Record<'source' | 'note', string | null> & { created_at: string };

function shape(one: Suppression): Row {
  const { id, email, reason, source, note } = one;
  return { id, email, reason, source, note, created_at: new Date(one.createdAt).toISOString() };
}

async function readAll(call: Call): Promise<Suppression[]> {
  const all: Suppression[] = [];
  await operate(call, 'suppression.list', { account: call.get(ACCOUNT) }, async (chunk) => {
    for (const row of Value.Decode(SuppressionList, JSON.parse(chunk))) all.push(row);
  });
  return all;
}

async function list(call: Call): Promise<void> {
  const all = await readAll(call);
  const rows = all.map((one) => [
    [one.email, one.reason, when(one.createdAt)],
    [one.source ?? '-', one.note ?? ''],
  ]);
  const headings = [
    ['ADDRESS', 'REASON', 'SINCE (UTC)'],
    ['SOURCE', 'NOTE'],
  ];
  call.print(all.map(shape), table(headings, rows, 'No addresses are suppressed.'));
}

async function add(call: Call): Promise<void> {
  const added = await operate(call, 'suppression.add', {
    account: call.get(ACCOUNT),
    email: call.get(EMAIL),
    reason: call.get(REASON),
    note: call.get(NOTE),
  });
  call.print(shape(added), `${added.email} is suppressed (${added.reason}).`);
}

async function remove(call: Call): Promise<void> {
  const removed = await operate(call, 'suppression.remove', {
    account: call.get(ACCOUNT),
    email: call.get(EMAIL),
    note: call.get(LOGGED_NOTE),
  });
  call.print(removed, `${removed.email} is no longer suppressed.`);
}

async function importFile(call: Call): Promise<number> {
  const done: ResultOf<'suppression.import'> = { rows: 0, added: 0, known: 0, bad: 0, named: [] };
  const account = call.get(ACCOUNT);
  const pieces = piecesWithHeader(readText(call.get(FILE), FILE_HINT), PIECE_LENGTH);
  for await (const { text: csv, line } of pieces) {
    const of = await operate(call, 'suppression.import', { account, csv, line });
    for (const name of ['rows', 'added', 'known', 'bad'] as const) done[name] += of[name];
    done.named.push(...of.named.slice(0, MOST_NAMED - done.named.length));
    call.output.say(`Rows read: ${done.rows}, added: ${done.added}`);
  }
  for (const { line, message } of done.named) call.output.say(`line ${line}: ${message}`);
  call.print(done, `Added: ${done.added}. Already suppressed: ${done.known}. Wrong: ${done.bad}.`);
  return done.bad === 0 ? 0 : 1;
}

export const suppression: Group = {
  summary: 'List and change the addresses that an account must not mail',
  actions: {
    list: {
      summary: 'List the suppressed addresses, newest first',
      parameters: [ACCOUNT],
      run: list,
    },
    add: { summary: 'Suppress an address', parameters: [EMAIL, REASON, NOTE, ACCOUNT], run: add },
    remove: {
      summary: 'Let an address be mailed again',
      details: 'Whatever the reason was. Over the API only manual suppressions can be removed.',
      parameters: [EMAIL, LOGGED_NOTE, ACCOUNT],
      run: remove,
    },
    import: {
      summary: 'Suppress the addresses of a CSV file',
      details:
        'Columns: email, reason, source, note, created_at; only email is needed. Names the wrong rows, adds the others, and ends with 1 when a row was wrong.',
      parameters: [FILE, ACCOUNT],
      run: importFile,
    },
    export: {
      summary: 'Write the suppressed addresses as CSV to standard output',
      details: 'With --json as one JSON array.',
      parameters: [ACCOUNT],
      async run(call) {
        if (call.isJson) call.print((await readAll(call)).map(shape), '');
        else await operate(call, 'suppression.export', { account: call.get(ACCOUNT) });
      },
    },
  },
};
