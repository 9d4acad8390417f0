/**
 * The whole appliance in one process: a start that fails leaves nothing behind, and a stop lets what is under way end.
 */
import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAppliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import { TestClock } from '../rig/clock.ts';
import { startHook } from '../rig/hook.ts';
import type { HookAnswer } from '../rig/hook.ts';
import { startNames } from '../rig/names.ts';
import { freePorts } from '../rig/ports.ts';
import { testAuthority } from '../rig/certificates.ts';

const silent = createLog(
  () => undefined,
  () => Date.now(),
);

test('a start that finds its address taken frees the data directory again', async () => {
  const [port = 0] = await freePorts(1);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'postrider-start-'));
  const config = (): ReturnType<typeof parseConfig> =>
    parseConfig(
      `hostname = "mail.rig.test"\ndata_dir = "${folder}"\n[http]\nlisten = "127.0.0.1:${port}"\n[delivery]\nmode = "capture"`,
      'test',
    );
  const options = { clock: systemClock, log: silent };
  for (let time = 0; time < 2; time += 1) {
    const refused = await startAppliance(config(), options).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OperatorError);
    expect(String(refused)).toBe(
      `OperatorError: http.listen: 127.0.0.1 port ${port} is in use by another program`,
    );
  }
  await new Promise<void>((resolve) => other.close(() => resolve()));
  const second = await startAppliance(config(), options);
  expect(second.addresses.http).toBe(`http://127.0.0.1:${port}`);
  await second.stop();
  expect(existsSync(join(folder, 'control.sock'))).toBe(false);
  rmSync(folder, { recursive: true });
});

const LISTENERS = ['http', 'inbound', 'submission', 'acme'] as const;
type Listener = (typeof LISTENERS)[number];

/** A config with every kind of listener, each at a port of its own, and what can be bound of these. */
async function withListeners(dataDir: string) {
  const ports = await freePorts(LISTENERS.length);
  const portOf = (name: Listener): number => ports[LISTENERS.indexOf(name)] ?? 0;
  const at = (name: Listener): string => `"127.0.0.1:${portOf(name)}"`;
  const config = parseConfig(
    `hostname = "mail.rig.test"
data_dir = "${dataDir}"
[http]
listen = ${at('http')}
[smtp]
inbound = ${at('inbound')}
submission = [${at('submission')}]
[acme]
listen = ${at('acme')}
accept_terms = true
directory_url = "https://127.0.0.1:1/directory"
[delivery]
mode = "capture"`,
    'test',
  );
  /** Null where somebody listens. */
  const bound = (name: Listener) =>
    new Promise<Server | null>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(null));
      server.listen(portOf(name), '127.0.0.1', () => resolve(server));
    });
  /** Those of the listeners that are open. */
  const open = async (): Promise<Listener[]> => {
    const found: Listener[] = [];
    for (const name of LISTENERS) {
      const server = await bound(name);
      if (server === null) found.push(name);
      server?.close();
    }
    return found;
  };
  return { config, bound, open };
}

test.each(LISTENERS)(
  'a start that finds the address of %s taken leaves no other one open',
  async (taken) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-start-'));
    const { config, bound, open } = await withListeners(folder);
    const other = await bound(taken);
    const start = startAppliance(config, { clock: systemClock, log: silent });
    const refused = await start.catch((error: unknown) => error);
    expect(String(refused)).toContain('in use by another program');
    other?.close();
    expect(await open()).toEqual([]);
    rmSync(folder, { recursive: true });
  },
);

test('a stop closes every listener', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-start-'));
  const { config, open } = await withListeners(folder);
  const appliance = await startAppliance(config, { clock: systemClock, log: silent });
  expect(await open()).toEqual([...LISTENERS]);
  await appliance.stop();
  expect(await open()).toEqual([]);
  rmSync(folder, { recursive: true });
});

test('stopping marks the time: after another boot with an earlier clock, time goes on from there', async () => {
  class OtherBoot extends TestClock {
    override bootId(): string {
      return 'another boot';
    }
  }
  const clock = new TestClock();
  const rig = await startRigAppliance({ clock });
  // Between two marks of the running appliance, which makes one a minute.
  await clock.advance(30_000);
  await rig.appliance.stop();
  const stoppedAt = rig.appliance.ctx.clock.steady();
  const again = await startAppliance(rig.appliance.ctx.config, {
    clock: new OtherBoot(clock.now() - 3_600_000),
    log: silent,
  });
  expect(again.ctx.clock.steady()).toBe(stoppedAt);
  await again.stop();
  await rig.stop();
});

test('stopping writes when each key was last used, which is gathered in memory', async () => {
  const clock = new TestClock();
  const rig = await startRigAppliance({ clock });
  await clock.advance(3_000);
  const usedAt = clock.now();
  const headers = { authorization: `Bearer ${rig.key}` };
  expect((await fetch(`${rig.url}/domains`, { headers })).status).toBe(200);
  await rig.appliance.stop();
  const again = await startAppliance(rig.appliance.ctx.config, { clock, log: silent });
  const keys = await again.ctx.store.keys(rig.account);
  expect(keys.map(({ lastUsedAt }) => lastUsedAt)).toEqual([usedAt]);
  await again.stop();
  await rig.stop();
});

test('stopping waits for a webhook call under way, and its end is on disk', async () => {
  const [names, hook] = [await startNames(), await startHook()];
  names.set(new URL(hook.url).hostname, 'A', [hook.host]);
  const rig = await startRigAppliance({
    config: `[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]`,
  });
  const sandbox = { name: 'sandbox', permission: 'full_access', isTest: true } as const;
  const { token } = await createKey(rig.appliance.ctx, rig.account, sandbox);
  const post = (key: string, path: string, body: object): Promise<Response> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return fetch(rig.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const made = await post(rig.key, '/webhooks', {
    endpoint: hook.url,
    events: ['email.delivered'],
  });
  const { id } = (await made.json()) as { id: string };

  const answer = Promise.withResolvers<HookAnswer>();
  hook.script.answer = () => answer.promise;
  await post(token, '/emails', {
    from: 'a@example.org',
    to: 'delivered@sandbox.test',
    subject: 's',
    text: 't',
  });
  await hook.calls.atLeast(1);
  const stopped = rig.appliance.stop();
  answer.resolve({ status: 200 });
  await stopped;

  const again = await startAppliance(rig.appliance.ctx.config, { clock: systemClock, log: silent });
  const page = await again.ctx.store.callAttempts(id, { limit: 10, after: null, before: null });
  expect(page.rows.map(({ ok, attempt }) => [ok, attempt])).toEqual([[true, 1]]);
  await again.stop();
  await rig.stop();
  await Promise.all([names.stop(), hook.stop()]);
});
