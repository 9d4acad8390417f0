/**
 * `init`: from nothing to a config file, a data directory, the first account and its first key.
 *
 * Promises never to overwrite: a config file or a database that is there already ends it before anything is written.
 * The dashboard's password and the key are shown this once.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { closeContext, openContext } from '../appliance-context.ts';
import { systemClock } from '../base/clock.ts';
import { parseConfig } from '../base/config-file.ts';
import { defaultConfigText } from '../base/config-text.ts';
import { OperatorError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import { createAccount } from '../flow/accounts.ts';
import { resetAdminPassword } from '../flow/admin.ts';
import { createKey } from '../flow/keys.ts';
import { type Call, type Command, UsageError } from './command.ts';
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
  mkdirSync(dirname(file), { recursive: true });
  // The file may come to hold a relay's password: for its owner alone, whatever group that is in.
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  try {
    const log = createLog(
      (line) => call.output.say(line),
      () => systemClock.now(),
    );
    const ctx = await openContext(config, { clock: systemClock, log });
    try {
      const account = await createAccount(ctx, { name: 'default' });
      const password = await resetAdminPassword(ctx);
      const { token } = await createKey(ctx, account.id, {
        name: 'first key',
        permission: 'full_access',
      });
      const made = { config: file, data_dir: dataDir, account_id: account.id };
      report(call, { ...made, admin_password: password, key: token });
    } finally {
      await closeContext(ctx);
    }
  } catch (error) {
    // So that init can run again once its cause is mended.
    rmSync(file);
    throw error;
  }
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
