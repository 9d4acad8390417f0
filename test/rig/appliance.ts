/**
 * The whole appliance inside the test's process, on free ports, with a log that can be waited on.
 *
 * Promises a data directory of its own, removed at the end. Where the compiled program itself is meant, use `binary.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MachineClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { Arrivals } from './arrivals.ts';
import type { LogLine } from './binary.ts';

export interface RigAppliance {
  appliance: Appliance;
  /** Base URL of the API. */
  url: string;
  dataDir: string;
  account: string;
  /** A full-access key of that account. */
  key: string;
  log: Arrivals<LogLine>;
  stop(): Promise<void>;
}

/** `config`: TOML behind `hostname`, `data_dir` and `[http]` with `listen`, in which it may go on. */
export async function startRigAppliance(
  options: { config?: string; clock?: MachineClock } = {},
): Promise<RigAppliance> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-rig-'));
  const dataDir = join(folder, 'data');
  const head = `hostname = "mail.rig.test"\ndata_dir = "${dataDir}"\n[http]\nlisten = "127.0.0.1:0"\n`;
  const clock = options.clock ?? systemClock;
  const log = new Arrivals<LogLine>('log lines');
  const appliance = await startAppliance(parseConfig(head + (options.config ?? ''), 'rig'), {
    clock,
    log: createLog(
      (line) => log.push(JSON.parse(line) as LogLine),
      () => clock.now(),
    ),
  });
  const account = await createAccount(appliance.ctx, { name: 'default' });
  const made = await createKey(appliance.ctx, account.id, {
    name: 'rig',
    permission: 'full_access',
  });
  return {
    appliance,
    url: appliance.addresses.http,
    dataDir,
    account: account.id,
    key: made.token,
    log,
    async stop() {
      await appliance.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
