/** `backup` and `restore`: one file with all data and the key, taken online, put back without a server. */
import { resolve } from 'node:path';

import { systemClock } from '../base/clock.ts';
import type { BackupReport } from '../store/backup.ts';
import { restoreBackup } from '../store/restore.ts';
import type { Command } from './command.ts';
import { fields } from './layout.ts';
import { operate } from './operate.ts';
import { becomeOwner } from './owner.ts';

export const backup: Command = {
  synopsis: 'FILE',
  does: 'Writes all data and the key to FILE while the server runs, and verifies it. Keep it secret.',
  words: [1, 1],
  async run(call) {
    const report = (await operate(call, 'backup', {
      file: resolve(call.word(0)),
    })) as BackupReport;
    const rows = Object.entries(report.rows).map(([table, count]): [string, string] => [
      table,
      String(count),
    ]);
    call.print(report, `${report.file}, ${report.bytes} bytes, verified:\n${fields(rows)}`);
  },
};

export const restore: Command = {
  synopsis: 'FILE',
  does: 'Puts a backup in the place of the data; the server must be stopped. The old data is kept aside.',
  words: [1, 1],
  async run(call) {
    const { dataDir } = call.config();
    becomeOwner(dataDir);
    const report = restoreBackup(resolve(call.word(0)), dataDir, systemClock.now());
    const aside = report.setAside === null ? '' : `\nWhat was there is in ${report.setAside}.`;
    const rows = Object.entries(report.rows).map(([table, count]): [string, string] => [
      table,
      String(count),
    ]);
    call.print(
      { data_dir: dataDir, rows: report.rows, set_aside: report.setAside },
      `Restored into ${dataDir}:\n${fields(rows)}${aside}`,
    );
  },
};
