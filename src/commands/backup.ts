/** `backup` and `restore`: one file with all data and the key, taken online and put back while no server is running. */
import { resolve } from 'node:path';

import { systemClock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { offerKey } from '../store/key-offer.ts';
import type { Call, Command } from './command.ts';
import { fields } from './layout.ts';
import { alone, operate } from './operate.ts';
import { becomeOwner, requireDataDir } from './owner.ts';
import { argument, flag } from './parameter.ts';

const TO = argument('FILE', 'File to write; it must not exist yet', { completion: 'file' });
const FROM = argument('FILE', 'File that postrider backup wrote', { completion: 'file' });

const KEY_ONLY = flag(
  'key-only',
  'Bring back the secret key alone, and leave the data as they are',
);

/** Rows of each table, one in a line. */
function showCounts(rows: Record<string, number>): string {
  return fields(Object.entries(rows).map(([table, count]) => [table, String(count)]));
}

export const backup: Command = {
  summary: 'Write all data and the secret key to one file',
  details:
    'Works while the server is running, and verifies the file. Keep it secret: it holds the key that protects your DKIM keys and webhook secrets.',
  parameters: [TO],
  async run(call) {
    const report = await operate(call, 'backup', { file: resolve(call.get(TO)) });
    call.print(
      report,
      `Wrote ${report.file}: ${report.bytes} bytes, verified. Rows:\n${showCounts(report.rows)}`,
    );
  },
};

export const restore: Command = {
  summary: 'Replace all data with that of a backup',
  details:
    'Stop the server first. The files that were in the data directory are moved to a folder in it, not deleted.',
  parameters: [FROM, KEY_ONLY],
  async run(call) {
    const { dataDir, store } = call.config().startup;
    if (call.get(KEY_ONLY)) {
      await restoreKey(call, resolve(call.get(FROM)));
      return;
    }
    if (store.url !== '') {
      throw new OperatorError(
        'The data are in the database of [store] url, and a backup file goes into files only.',
        'Bring the database back with its own tools, such as pg_restore or pgBackRest, and secret.key beside it.',
      );
    }
    becomeOwner(dataDir);
    const { restoreBackup } = await import('../store/sqlite/restore.ts');
    const report = restoreBackup(resolve(call.get(FROM)), dataDir, systemClock.now());
    const aside = report.setAside === null ? '' : `\nThe old files are in ${report.setAside}.`;
    call.print(
      { data_dir: dataDir, rows: report.rows, set_aside: report.setAside },
      `Restored into ${dataDir}. Rows:\n${showCounts(report.rows)}${aside}`,
    );
  },
};

/** Takes the key of a backup, where it is the key of the data that are here. */
async function restoreKey(call: Call, file: string): Promise<void> {
  const config = call.config();
  const { dataDir } = config.startup;
  requireDataDir(dataDir);
  becomeOwner(dataDir);
  const { keyOfBackup } = await import('../store/sqlite/restore.ts');
  const offered = offerKey(dataDir, keyOfBackup(file));
  try {
    // Opening takes the offered key where it fits, and refuses otherwise.
    await alone(call, config, () => Promise.resolve());
  } catch (error) {
    offered.undo();
    throw error;
  }
  const setAside = offered.setAside();
  const aside = setAside === null ? '' : `\nThe key file from before is ${setAside}.`;
  call.print(
    { data_dir: dataDir, set_aside: setAside },
    `The secret key of ${dataDir} opens its data.${aside}`,
  );
}
