/** `migrate`: everything from files into a PostgreSQL database, or back, while no server is running. */
import { resolve } from 'node:path';

import type { Destination, Migrated } from '../appliance/migrate.ts';
import { systemClock } from '../base/clock.ts';
import type { Written } from '../base/config-node.ts';
import { inToml } from '../base/config-text.ts';
import type { TransferProgress } from '../store/transfer-run.ts';
import type { Call, Command } from './command.ts';
import { fields, paragraph } from './layout.ts';
import { becomeOwner, requireDataDir } from './owner.ts';
import { UsageError, option, requiredOption } from './parameter.ts';

const TO = requiredOption(
  'to',
  'URL|DIR',
  'The PostgreSQL database (15 or newer, without a password in the URL), or the directory to go back to files in',
);
const PASSWORD_FILE = option(
  'password-file',
  'FILE',
  'File with the password of the database role',
  { completion: 'file' },
);
/** Between two lines of progress on one table. */
const REPORT_EVERY_MS = 2_000;

export const migrate: Command = {
  summary: 'Move all data from files into a PostgreSQL database, or back',
  details:
    'Stop the server first, on every node. The source is read only and stays as it is; the target must be empty. At the end every table is read again from the target and compared with the source by its rows and their hash. The config is not changed: the lines to change are printed. A run that was interrupted can be started again; until then the server refuses its target. The secret key stays the same: return paths, unsubscribe links and webhook secrets of old mail go on working.',
  parameters: [TO, PASSWORD_FILE],
  async run(call) {
    const to = destinationOf(call);
    const config = call.config();
    requireDataDir(config.startup.dataDir);
    becomeOwner(config.startup.dataDir);
    const { migrateStore } = await import('../appliance/migrate.ts');
    const migrated = await migrateStore({
      config,
      to,
      now: systemClock.now(),
      report: reporter((text) => call.output.say(text)),
    });
    call.print(
      { tables: migrated.tables, config: migrated.changes },
      textOf(migrated, call.configFile()),
    );
  },
};

function destinationOf(call: Call): Destination {
  const [to, passwordFile] = [call.get(TO), call.get(PASSWORD_FILE)];
  if (/^postgres(?:ql)?:/.test(to)) {
    const file = passwordFile === null ? '' : resolve(passwordFile);
    return { kind: 'database', url: to, passwordFile: file };
  }
  if (passwordFile !== null)
    throw new UsageError('--password-file goes with the URL of a database.');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(to)) {
    throw new UsageError('--to must be a directory or a URL that begins with postgres://.');
  }
  return { kind: 'directory', dataDir: resolve(to) };
}

const WORDS = { copy: 'Copying', compare: 'Comparing' } as const;

/** Says at the end of each large table, and now and then before, how far it is. */
function reporter(
  say: (text: string) => void,
): (progress: TransferProgress | { step: 'index' }) => void {
  let saidAt = performance.now();
  let isBehind = false;
  return (progress) => {
    if (progress.step === 'index') {
      say('Building the search index');
      return;
    }
    const { step, table, rows, of } = progress;
    const isDue = performance.now() - saidAt >= REPORT_EVERY_MS;
    if (!isDue && !(isBehind && rows === of)) return;
    saidAt = performance.now();
    isBehind = rows < of;
    say(`${WORDS[step]} ${table}: ${counted(rows)} of ${counted(of)} rows`);
  };
}

const counted = (count: number): string => count.toLocaleString('en');

function textOf({ tables, changes }: Migrated, file: string): string {
  const rows = tables.map(({ table, rows: count, sha256 }): [string, string] => [
    table,
    `${counted(count)} ${count === 1 ? 'row' : 'rows'}, sha256 ${sha256.slice(0, 16)}`,
  ]);
  const total = tables.reduce((sum, { rows: count }) => sum + count, 0);
  return [
    fields(rows),
    '',
    paragraph(`${counted(total)} rows are there, the same on both sides.`),
    `Now change these lines of ${file}:`,
    '',
    ...linesOf(changes),
    '',
    paragraph(
      'Then run postrider check and start the server. The source is as it was; from that start on it is old.',
    ),
  ].join('\n');
}

/** Keys without a table come first, as TOML has it. */
function linesOf(changes: Migrated['changes']): string[] {
  const line = ([key, value]: [string, Written]): string => `${key} = ${inToml(value)}`;
  const all = Object.entries(changes);
  const ofStore = all.flatMap(([path, value]): [string, Written][] =>
    path.startsWith('store.') ? [[path.slice('store.'.length), value]] : [],
  );
  const others = all.filter(([path]) => !path.startsWith('store.'));
  return [...others.map(line), '[store]', ...ofStore.map(line)];
}
