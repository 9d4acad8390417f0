/**
 * `init`: from nothing to a config file, a data directory, the first account and its first key.
 *
 * Promises never to overwrite: a config file or a database that is there already ends it before anything is written.
 * The dashboard's password and the key are shown this once.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { closeContext, openContext } from '../appliance-context.ts';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { parseConfig } from '../base/config-file.ts';
import { defaultConfigText } from '../base/config-text.ts';
import { OperatorError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import { createAccount } from '../flow/accounts.ts';
import { resetAdminPassword } from '../flow/admin.ts';
import { createKey } from '../flow/keys.ts';
import { isDiskFull } from '../store/full-disk.ts';
import { type Call, type Command, UsageError } from './command.ts';
import { rememberDirectory } from './half-done.ts';
import { fields } from './layout.ts';

const DEFAULT_DATA_DIR = '/var/lib/postrider';

export const init: Command = {
  synopsis: '--hostname H [--config F] [--data-dir D]',
  does: 'Writes a commented config, the data directory and the account "default"; shows password and key once.',
  flags: { hostname: 'text', 'data-dir': 'text' },
  run: runInit,
};

async function runInit(call: Call): Promise<void> {
  const hostname = call.required('hostname').toLowerCase();
  const file = resolve(call.configFile());
  const dataDir = resolve(call.flag('data-dir') ?? DEFAULT_DATA_DIR);
  const text = defaultConfigText(hostname, dataDir);
  const config = parseOrRefuse(text, file);
  refuseExisting(file, join(dataDir, 'mail.db'));
  const undoConfig = rememberDirectory(dirname(file));
  const undoData = rememberDirectory(dataDir);
  let isWritten = false;
  try {
    mkdirSync(dirname(file), { recursive: true });
    // The file may come to hold a relay's password: for its owner alone, whatever group that is in.
    closeSync(openSync(file, 'wx', 0o600));
    isWritten = true;
    writeFileSync(file, text);
    await fill(call, config, { config: file, data_dir: dataDir });
  } catch (error) {
    // So that init can run again once its cause is mended.
    if (isWritten) rmSync(file);
    if (!isDiskFull(error)) throw error;
    undoData();
    undoConfig();
    throw new OperatorError(
      `there is no room for ${file} or ${dataDir}: the disk is full`,
      'Free some space, 300 MiB or more to send, and run init again; nothing was left behind.',
    );
  }
}

/** Account, password and first key, in a data directory of their own. */
async function fill(
  call: Call,
  config: Config,
  places: Pick<Made, 'config' | 'data_dir'>,
): Promise<void> {
  const log = createLog(
    (line) => call.output.say(line),
    () => systemClock.now(),
  );
  const ctx = await openContext(config, { clock: systemClock, log });
  let made: Made;
  try {
    const account = await createAccount(ctx, { name: 'default' });
    const password = await resetAdminPassword(ctx);
    const { token } = await createKey(ctx, account.id, {
      name: 'first key',
      permission: 'full_access',
    });
    made = { ...places, account_id: account.id, admin_password: password, key: token };
  } finally {
    await closeContext(ctx);
  }
  report(call, made);
}

/** A host name that no config may have is wrong usage here: there is no file yet that could be wrong. */
function parseOrRefuse(text: string, file: string): ReturnType<typeof parseConfig> {
  try {
    return parseConfig(text, file);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    throw new UsageError(error.message.replaceAll(/^.*?:\d+: /gm, '--'));
  }
}

function refuseExisting(...paths: string[]): void {
  for (const path of paths) {
    if (existsSync(path)) {
      throw new OperatorError(
        `${path} is there already, and init never overwrites`,
        'Start it with `postrider serve`, or choose other places with --config and --data-dir.',
      );
    }
  }
}

interface Made {
  config: string;
  data_dir: string;
  account_id: string;
  admin_password: string;
  key: string;
}

function report(call: Call, made: Made): void {
  const shown = fields([
    ['config', made.config],
    ['data directory', made.data_dir],
    ['account', `default (${made.account_id})`],
    ['dashboard password', made.admin_password],
    ['API key, full access', made.key],
  ]);
  call.print(
    made,
    `${shown}\n\nPassword and key are not shown again.\nNext: postrider serve --config ${made.config}`,
  );
}
