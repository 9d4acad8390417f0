/**
 * A reload in one process: which changed keys wait for a restart, and that everybody who holds the config sees the new
 * live part, the old one unchanged.
 */
import { afterEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import type { Reloaded } from '../../src/control/operation.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { authenticate, createKey } from '../../src/flow/accounts/keys.ts';
import { testAuthority } from '../rig/certificates.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) await next();
});

/** Starts with `first`, TOML behind `[http]` with `listen`; `reload` takes over another. */
async function start(first: string): Promise<{
  appliance: Appliance;
  folder: string;
  reload: (toml: string, listen?: string, dataDir?: string) => Reloaded;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-reload-'));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  const head = (listen = 'listen = "127.0.0.1:0"', dataDir = folder): string =>
    `hostname = "mail.rig.test"\ndata_dir = "${dataDir}"\n[http]\n${listen}\n`;
  let file = head() + first;
  const load = () => parseConfig(file, 'rig');
  const log = createLog(
    () => undefined,
    () => Date.now(),
  );
  const appliance = await startAppliance(load(), { clock: systemClock, log, load });
  cleanUps.push(() => appliance.stop());
  return {
    appliance,
    folder,
    reload(toml, listen, dataDir) {
      file = head(listen, dataDir) + toml;
      return appliance.reload();
    },
  };
}

const RELAY = '[delivery.smarthost]\nhost = "192.0.2.1"\n';
const OTHER_RELAY = '[delivery.smarthost]\nhost = "192.0.2.2"\n';

test('live keys are replaced as a whole; the value that was read before stays as it was', async () => {
  const { appliance, reload } = await start('[limits]\nrecipients = 3\n');
  const { config } = appliance.ctx;
  const before = config.live;
  expect(reload('[limits]\nrecipients = 2\n')).toEqual({
    needs_restart: [],
    new_certificate: false,
  });
  expect([before.limits.recipients, config.live.limits.recipients]).toEqual([3, 2]);
  expect(() => reload('[limits]\nrecipients = 0\n')).toThrow('limits.recipients must be');
  expect(config.live.limits.recipients).toBe(2);
});

test('a plan that was changed holds for the next request of a key that is known already', async () => {
  const plan = (domains: number): string => `[[plans]]\nid = "p"\nmax_domains = ${domains}\n`;
  const { appliance, reload } = await start(plan(3));
  const { ctx } = appliance;
  const account = await createAccount(ctx, { name: 'shop', plan: 'p' });
  const input = { name: 'k', permission: 'full_access' } as const;
  const { token } = await createKey(ctx, account.id, input);
  expect((await authenticate(ctx, token))?.plan.maxDomains).toBe(3);
  reload(plan(4));
  expect((await authenticate(ctx, token))?.plan.maxDomains).toBe(4);
});

test('keys that need a restart keep their value and are named as the file spells them', async () => {
  const { appliance, reload } = await start('[smtp]\ninbound = "127.0.0.1:0"\n');
  const { startup } = appliance.ctx.config;
  const done = reload(
    '[smtp]\ninbound = ""\n[dns]\nservers = ["127.0.0.1:53"]\n[delivery]\nsource_addresses = ["127.0.0.7"]\nport = 26\n',
  );
  expect(done.needs_restart).toEqual(['smtp.inbound', 'delivery.source_addresses', 'dns.servers']);
  expect(appliance.ctx.config.startup).toBe(startup);
  expect(startup.dns.servers).toEqual([]);
  expect(appliance.ctx.config.live.delivery.port).toBe(26);
});

test.each([
  ['direct', '', RELAY, ['delivery.smarthost'], undefined],
  ['direct', RELAY, '', ['delivery.smarthost'], '192.0.2.1'],
  ['direct', RELAY, OTHER_RELAY, [], '192.0.2.2'],
  ['capture', '', RELAY, [], '192.0.2.1'],
  ['capture', RELAY, '', [], undefined],
])('the smarthost in mode %s: %p, then %p', async (mode, first, then, waiting, host) => {
  const delivery = `[delivery]\nmode = "${mode}"\n`;
  const { appliance, reload } = await start(delivery + first);
  expect(reload(delivery + then).needs_restart).toEqual(waiting);
  expect(appliance.ctx.config.live.delivery.smarthost?.host).toBe(host);
});

test('HTTP from plain to TLS waits for a restart, and serves on as before', async () => {
  const { certFile, keyFile } = testAuthority().issue(['localhost']);
  const { appliance, reload } = await start('');
  const pair = `tls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`;
  expect(reload(pair)).toEqual({ needs_restart: ['http.tls_cert'], new_certificate: false });
  expect(appliance.addresses.http).toStartWith('http://');
  expect((await fetch(`${appliance.addresses.http}/health`)).status).toBe(200);
});

test('certificates come from the directory that is in use until a restart', async () => {
  const smtp = '[smtp]\nsubmission = ["127.0.0.1:0"]\n';
  const { folder, reload } = await start(smtp);
  const other = join(folder, 'other');
  mkdirSync(other);
  expect(reload(smtp, undefined, other)).toEqual({
    needs_restart: ['data_dir'],
    new_certificate: false,
  });
  expect(readdirSync(other)).toEqual([]);
});

test('without a public URL links lead to the listener that runs, whatever the file says now', async () => {
  const { appliance, reload } = await start('[limits]\nrecipients = 3\n');
  const { config } = appliance.ctx;
  const own = config.live.http.publicUrl;
  const done = reload('', 'listen = "127.0.0.2:8099"');
  expect(done.needs_restart).toEqual(['http.listen']);
  expect(config.live.http.publicUrl).toBe(own);
  reload('public_url = "https://mail.shop.example"\n', 'listen = "127.0.0.2:8099"');
  expect(config.live.http.publicUrl).toBe('https://mail.shop.example');
  reload('', 'listen = "127.0.0.2:8099"');
  expect(config.live.http.publicUrl).toBe(own);
});

test('a smarthost that waits for a restart keeps nothing else back', async () => {
  const { appliance, reload } = await start('');
  const { config } = appliance.ctx;
  const done = reload(`[limits]\nrecipients = 2\n[delivery]\nport = 26\n${RELAY}`);
  expect(done).toEqual({ needs_restart: ['delivery.smarthost'], new_certificate: false });
  const { delivery, limits } = config.live;
  expect([delivery.port, delivery.smarthost, limits.recipients]).toEqual([26, null, 2]);
  reload(`[delivery]\nport = 27\n`);
  expect([config.live.delivery.port, config.live.limits.recipients]).toEqual([27, 50]);
});
