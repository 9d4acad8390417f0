/**
 * `init`: from nothing to a config file, a data directory, the first account and its first key.
 *
 * Promises never to overwrite: a config file or a database that is there already ends it before anything is written.
 * Shows the dashboard password and the key once.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Written } from '../base/config-node.ts';
import { parseConfig } from '../base/config-file.ts';
import { defaultConfigText } from '../base/config-text.ts';
import { OperatorError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import type { Log } from '../base/log.ts';
import { isDiskFull } from '../store/full-disk.ts';
import { installKey, keyFromFile, keyPath } from '../store/key-file.ts';
import type { Call, Command } from './command.ts';
import { rememberDirectory } from './half-done.ts';
import { fields } from './layout.ts';
import { UsageError, option, requiredOption } from './parameter.ts';

const DEFAULT_DATA_DIR = '/var/lib/postrider';

const HOSTNAME = requiredOption(
  'hostname',
  'H',
  'Public name of this machine, for example mail.example.com',
);
const DATA_DIR = option('data-dir', 'D', `Data directory (default: ${DEFAULT_DATA_DIR})`, {
  completion: 'file',
});
const KEY_PREFIX = option(
  'key-prefix',
  'P',
  'What every API key begins with: 2 to 10 lower-case letters and digits (default: pr)',
);
const ACME = option(
  'acme',
  'EMAIL',
  "Serve https with certificates of Let's Encrypt, who may write to this address",
);
const STORE = option(
  'store',
  'URL',
  'Keep everything in this PostgreSQL database (15 or newer) instead of in files; without a password',
);
const PASSWORD_FILE = option(
  'password-file',
  'FILE',
  'File with the password of the database role',
  {
    completion: 'file',
  },
);
const SECRET_KEY = option(
  'secret-key',
  'FILE',
  "Join the nodes that use the database of --store already: a copy of one node's secret.key",
  { completion: 'file' },
);

export const init: Command = {
  summary: 'Create the config file, the data directory and a first account',
  details:
    'Never overwrites. With --acme you accept the terms of service of Let\'s Encrypt; the server then listens on the ports 80 and 443 of every address. Shows the dashboard password and a full-access API key of the account "default" once. With --secret-key it makes no account and no key: the node serves the accounts that the database holds.',
  parameters: [HOSTNAME, DATA_DIR, KEY_PREFIX, ACME, STORE, PASSWORD_FILE, SECRET_KEY],
  run: runInit,
};

async function runInit(call: Call): Promise<void> {
  const hostname = call.get(HOSTNAME).toLowerCase();
  const file = resolve(call.configFile());
  const dataDir = resolve(call.get(DATA_DIR) ?? DEFAULT_DATA_DIR);
  const text = defaultConfigText(hostname, dataDir, chosenValues(call, hostname));
  const config = parseOrRefuse(text, file);
  const key = keyToJoinWith(call);
  refuseExisting(
    file,
    join(dataDir, 'mail.db'),
    ...(key === null ? [] : [join(dataDir, 'secret.key')]),
  );
  const undoConfig = rememberDirectory(dirname(file));
  const undoData = rememberDirectory(dataDir);
  let isWritten = false;
  try {
    mkdirSync(dirname(file), { recursive: true });
    // The file may come to hold a relay's password: for its owner alone, whatever group that is in.
    closeSync(openSync(file, 'wx', 0o600));
    isWritten = true;
    writeFileSync(file, text);
    const paths = { config: file, data_dir: dataDir };
    await (key === null ? fill(call, config, paths) : joinNodes(call, config, paths, key));
  } catch (error) {
    // So that init can run again once its cause is fixed.
    if (isWritten) rmSync(file);
    if (!isDiskFull(error)) throw error;
    undoData();
    undoConfig();
    throw new OperatorError(
      `Cannot write ${file} or ${dataDir}: the disk is full.`,
      'Free some space and run init again; sending needs 300 MiB. Nothing was left behind.',
    );
  }
}

/** Values of the config that options ask for, by the paths of their keys. Throws `UsageError`. */
function chosenValues(call: Call, hostname: string): Record<string, Written> {
  const [prefix, email] = [call.get(KEY_PREFIX), call.get(ACME)];
  if (email !== null && !/^[^\s@]+@[^\s@]+$/.test(email)) {
    throw new UsageError(`--acme needs a mail address, not "${email}".`);
  }
  const [store, passwordFile] = [call.get(STORE), call.get(PASSWORD_FILE)];
  return {
    ...(store !== null && { 'store.url': store }),
    ...(passwordFile !== null && { 'store.password_file': resolve(passwordFile) }),
    ...(prefix !== null && { 'api.key_prefix': prefix }),
    ...(email !== null && {
      'http.listen': '0.0.0.0:443',
      'http.public_url': `https://${hostname}`,
      'acme.listen': '0.0.0.0:80',
      'acme.email': email,
      'acme.accept_terms': true,
    }),
  };
}

/** The key that `--secret-key` names; null: this is the first node. Throws `OperatorError` and `UsageError`. */
function keyToJoinWith(call: Call): Uint8Array | null {
  const file = call.get(SECRET_KEY);
  if (file === null) return null;
  if (call.get(STORE) === null) {
    throw new UsageError(
      '--secret-key is for a node that joins others: say their database with --store.',
    );
  }
  return keyFromFile(resolve(file));
}

/** A further node of those that use the database: config and key, nothing in the database. */
async function joinNodes(
  call: Call,
  config: Config,
  paths: Pick<Made, 'config' | 'data_dir'>,
  key: Uint8Array,
): Promise<void> {
  installKey(paths.data_dir, key);
  let accounts: number;
  try {
    accounts = await accountsToServe(call, config);
  } catch (error) {
    rmSync(keyPath(paths.data_dir));
    throw error;
  }
  const shown = fields([
    ['config', paths.config],
    ['data directory', paths.data_dir],
    ['accounts in the database', String(accounts)],
  ]);
  call.print(
    { ...paths, accounts },
    `${shown}\n\nThe node has joined. Set [cluster] name in its config as on the other nodes.\nNext: postrider serve --config ${paths.config}`,
  );
}

/** How many accounts the database has. Throws `OperatorError` when it is of no node yet, or of another key. */
async function accountsToServe(call: Call, { startup }: Config): Promise<number> {
  const now = systemClock.now();
  const { openStore } = await import('../appliance/open-store.ts');
  const { unlock } = await import('../flow/data-key.ts');
  const { store } = await openStore(startup, { now, log: logOf(call), onCommit: () => undefined });
  try {
    const accounts = await store.accounts();
    if (accounts.length === 0) {
      throw new OperatorError(
        'The database is empty: there are no nodes to join.',
        'Run init without --secret-key to make the first node.',
      );
    }
    await unlock(startup.dataDir, store);
    return accounts.length;
  } finally {
    await store.close();
  }
}

function logOf(call: Call): Log {
  return createLog(
    (line) => call.output.say(line),
    () => systemClock.now(),
  );
}

/** Account, password and first key, in a data directory of their own. */
async function fill(
  call: Call,
  config: Config,
  paths: Pick<Made, 'config' | 'data_dir'>,
): Promise<void> {
  const { closeContext, openContext } = await import('../appliance/context.ts');
  const { createAccount } = await import('../flow/accounts/accounts.ts');
  const { createKey } = await import('../flow/accounts/keys.ts');
  const { resetAdminPassword } = await import('../flow/people/operators.ts');
  const ctx = await openContext(config, { clock: systemClock, log: logOf(call) });
  let made: Made;
  try {
    const account = await createAccount(ctx, { name: 'default' });
    const password = await resetAdminPassword(ctx);
    const { token } = await createKey(ctx, account.id, {
      name: 'first key',
      permission: 'full_access',
    });
    made = { ...paths, account_id: account.id, admin_password: password, key: token };
  } finally {
    await closeContext(ctx);
  }
  report(call, made);
}

/** A value that no config may have is wrong usage here: no file exists yet that could be wrong. */
function parseOrRefuse(text: string, file: string): ReturnType<typeof parseConfig> {
  try {
    return parseConfig(text, file);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const words = error.message.replaceAll(
      /^.*?:\d+: (?:api\.)?([a-z_]+)/gm,
      (_, key: string) => `--${key.replaceAll('_', '-')}`,
    );
    throw new UsageError(words);
  }
}

function refuseExisting(...paths: string[]): void {
  for (const path of paths) {
    if (existsSync(path)) {
      throw new OperatorError(
        `${path} exists already, and init never overwrites.`,
        'Start the server with `postrider serve`, or choose other paths with --config and --data-dir.',
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
    `${shown}\n\nStore the password and the key now: they are not shown again.\nNext: postrider serve --config ${made.config}`,
  );
}
