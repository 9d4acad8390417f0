/** `rekey`: a new secret key, with everything sealed under it, while no server is running. */
import type { Command } from './command.ts';
import { fields, paragraph } from './layout.ts';
import { alone } from './operate.ts';
import { flag } from './parameter.ts';

const LEAKED = flag(
  'leaked',
  'Others may know the old key: also end unsubscribe links and return paths of mail already sent',
);

const BACKUPS =
  'Take a backup now: it holds the new key. Backups from before hold the old key and still restore, each with the data and the key of its time. Copies of the old secret.key alone are of no use to this data any more.';
const AFTER_A_LEAK =
  'Who has the old key and a copy of the database can read the DKIM keys and webhook secrets that were in it: replace those too, and delete backups and before-restore folders that hold the old key.';

export const rekey: Command = {
  summary: 'Replace the secret key and seal every secret under a new one',
  details:
    'Stop the server first. A crash at any moment is safe: the next start finishes it or has changed nothing. Unsubscribe links and return paths of mail already sent stay valid, unless --leaked is given.',
  parameters: [LEAKED],
  async run(call) {
    const isLeaked = call.get(LEAKED);
    const { rekey: replaceKey } = await import('../flow/rekey.ts');
    const report = await alone(call, call.config(), (ctx) =>
      replaceKey(ctx, { endsLinks: isLeaked }),
    );
    const unreadable = report.unreadable.map(({ kind, id }) => `${kind} ${id}`);
    const rows: [string, string][] = [['sealed under the new key', String(report.sealed)]];
    if (unreadable.length > 0) {
      rows.push(['the old key did not open', unreadable.join(', ')]);
    }
    const advice = isLeaked ? `${BACKUPS}\n${AFTER_A_LEAK}` : BACKUPS;
    call.print(
      { sealed: report.sealed, unreadable: report.unreadable, ended_links: isLeaked },
      `${fields(rows)}\n\n${advice
        .split('\n')
        .map((text) => paragraph(text))
        .join('\n')}`,
    );
  },
};
