/** `erase`: takes one person's address out of everything that is stored. */
import type { Command } from './command.ts';
import { fields, paragraph } from './layout.ts';
import { operate } from './operate.ts';
import { argument, option } from './parameter.ts';

const ADDRESS = argument('ADDRESS', 'Email address of the person');

const ACCOUNT = option('account', 'A', 'Erase only in this account (name or id)');

const REMAINS =
  'What remains: suppressions of the address, so that it is not mailed again; backups and before-restore folders from before now; the log that the system keeps of standard error.';

export const erase: Command = {
  summary: 'Erase a person: every email, event and log row of one address',
  details:
    'Emails to this address alone go whole. Emails with other recipients stay for them, without content and subject. Ends with 1 when mail to the address still waits: it is left alone.',
  parameters: [ADDRESS, ACCOUNT],
  async run(call) {
    const args = { address: call.get(ADDRESS), account: call.get(ACCOUNT) };
    const done = await operate(call, 'erase', args);
    const rows: [string, string][] = [
      ['emails erased', String(done.messages)],
      ['emails with others, emptied', String(done.shared)],
      ['rows of the request log', String(done.log_rows)],
      ['confirmed recipients', String(done.confirmed)],
      ['suppressions kept', String(done.suppressions_kept)],
      ['left, because mail waits', String(done.waiting)],
    ];
    const waiting =
      done.waiting === 0
        ? ''
        : `\n${paragraph('Run it again when that mail has ended, or end it with postrider queue fail ID.')}`;
    call.print(done, `${fields(rows)}\n\n${paragraph(REMAINS)}${waiting}`);
    return done.waiting === 0 ? 0 : 1;
  },
};
