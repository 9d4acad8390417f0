/** `audit`: who changed what, when and from where. */
import type { Command } from './command.ts';
import { LIMIT } from './email.ts';
import { table, when } from './layout.ts';
import { operate } from './operate.ts';
import { option } from './parameter.ts';

const WHO = option('who', 'NAME', 'Show only changes of this operator, user or API key');
const BEFORE = option('before', 'SEQ', 'Go on before this entry, the last of the page before');

export const audit: Command = {
  summary: 'Show who changed what, on the dashboard, by commands and by API keys',
  details:
    'Newest first. Kept as long as [retention] audit says. The user of a command is the one that the machine knows, behind sudo too.',
  parameters: [WHO, LIMIT, BEFORE],
  async run(call) {
    const rows = await operate(call, 'audit.list', {
      who: call.get(WHO),
      limit: call.get(LIMIT),
      before: call.get(BEFORE),
    });
    const shown = rows.map((row) => [
      [when(row.at), row.who, row.via, row.action],
      [row.target, row.account ?? '', row.address ?? '', String(row.seq)],
    ]);
    const headings = [
      ['WHEN (UTC)', 'WHO', 'BY', 'WHAT'],
      ['DETAILS', 'ACCOUNT', 'FROM', 'SEQ'],
    ];
    const json = rows.map(({ at, ...row }) => ({ ...row, at: new Date(at).toISOString() }));
    call.print(json, table(headings, shown, 'Nothing has been changed yet.'));
  },
};
