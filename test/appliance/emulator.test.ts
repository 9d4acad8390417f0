/** An emulator opens on loopback alone, whatever config it is given, and leaves nothing behind where it refuses. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAppliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { newDomain, removeDomain } from '../../src/flow/domains/domains.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'emulator-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function start(http: string, smtp: string, key: string | null = null) {
  const head = `hostname = "dev.localhost"\ndata_dir = "${dataDir}"\n[delivery]\nmode = "capture"\n`;
  const config = parseConfig(`${head}[http]\nlisten = "${http}"\n[smtp]\n${smtp}\n`, 'test');
  const log = createLog(
    () => undefined,
    () => systemClock.now(),
  );
  return startAppliance(config, { clock: systemClock, log, emulate: { key } });
}

test.each([
  ['0.0.0.0:0', '', '0.0.0.0'],
  ['[::]:0', '', '::'],
  ['127.0.0.1:0', 'submission = ["0.0.0.0:0"]', '0.0.0.0'],
  ['127.0.0.1:0', 'submissions = ["127.0.0.1:0", "[::]:0"]', '::'],
  ['127.0.0.1:0', 'inbound = "0.0.0.0:0"', '0.0.0.0'],
])('http at %s with %p is refused', async (http, smtp, open) => {
  const refusal: unknown = await start(http, smtp).catch((error: unknown) => error);
  if (!(refusal instanceof OperatorError)) throw new Error('it was not refused');
  expect([refusal.message, refusal.hint, refusal.exitCode]).toEqual([
    `An emulator listens on loopback only, not on ${open}.`,
    'To be reached from other machines, run `postrider serve`.',
    1,
  ]);
  // Its lock is free again.
  const appliance = await start('127.0.0.1:0', '');
  expect(appliance.ctx.emulation).not.toBeNull();
  await appliance.stop();
});

test('answers under names of this machine alone: a web page must not read it by a name of its own', async () => {
  const appliance = await start('127.0.0.1:0', '');
  const statusFor = async (host: string): Promise<number> =>
    (await fetch(`${appliance.addresses.http}/health`, { headers: { host } })).status;
  const own = [
    'localhost',
    'localhost:2525',
    'LocalHost',
    'my-app.dev.localhost:3000',
    '127.0.0.1',
    '127.8.9.10:80',
    '[::1]',
    '[::1]:2525',
  ];
  for (const host of own) expect([host, await statusFor(host)]).toEqual([host, 200]);
  const foreign = [
    'rebound.example',
    'localhost.rebound.example',
    'localhost:2525.rebound.example',
    '127.0.0.1.rebound.example',
    'rebound-localhost',
    'rebound.example:127.0.0.1',
    '10.0.0.7',
    '[::2]',
  ];
  for (const host of foreign) expect([host, await statusFor(host)]).toEqual([host, 403]);
  const headers = { host: 'rebound.example' };
  const refused = await fetch(`${appliance.addresses.http}/emails`, { headers });
  expect(await refused.text()).toBe('This emulator answers to localhost and 127.0.0.1 only.\n');
  await appliance.stop();
});

test('two emails from a new domain at once make one domain', async () => {
  const appliance = await start('127.0.0.1:0', '');
  const send = async (): Promise<number> => {
    const email = { from: 'a@one.example', to: 'b@two.example', subject: 's', text: 'x' };
    const body = JSON.stringify(email);
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' };
    const url = `${appliance.addresses.http}/emails`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };
  expect(await Promise.all([send(), send(), send()])).toEqual([200, 200, 200]);
  const [account] = await appliance.ctx.store.accounts();
  const domains = await appliance.ctx.store.domains(account?.id ?? '');
  expect(domains.map(({ name, status }) => [name, status])).toEqual([['one.example', 'verified']]);
  await appliance.stop();
});

test('a domain that exists and was not checked yet is verified when it is needed', async () => {
  const appliance = await start('127.0.0.1:0', '');
  const { ctx } = appliance;
  const account = (await ctx.emulation?.identify(null))?.account.id ?? '';
  await ctx.store.createDomain(await newDomain(ctx, account, 'pending.example'), 10);
  expect((await ctx.emulation?.verified(account, 'pending.example'))?.status).toBe('verified');
  await appliance.stop();
});

test('one key alone is taken where one was chosen, and a client without a key is the developer', async () => {
  const appliance = await start('127.0.0.1:0', '', 're_mine');
  const { emulation, store } = appliance.ctx;
  expect((await store.accounts()).map(({ name }) => name)).toEqual(['default']);
  const nameFor = async (token: string | null) => (await emulation?.identify(token))?.key.name;
  expect([await nameFor(null), await nameFor('re_mine'), await nameFor('re_other')]).toEqual([
    'postrider dev',
    'postrider dev',
    undefined,
  ]);
  const identity = await emulation?.identify(null);
  expect(identity).toMatchObject({
    account: { name: 'default', plan: 'unlimited' },
    key: { permission: 'full_access', isTest: false, revokedAt: null },
    plan: { id: 'unlimited' },
    revision: null,
  });
  expect(await emulation?.identify('re_mine')).toBe(identity ?? null);
  expect((await store.keys(identity?.account.id ?? '')).map(({ id }) => id)).toEqual([
    identity?.key.id ?? '',
  ]);
  const statusFor = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${appliance.addresses.http}/domains`, { headers })).status;
  };
  expect([await statusFor('re_mine'), await statusFor('re_other')]).toEqual([200, 401]);
  await appliance.stop();
});

test('a key of the developer that was revoked is replaced at the next start', async () => {
  const first = await start('127.0.0.1:0', '');
  const key = (await first.ctx.emulation?.identify(null))?.key;
  await first.ctx.store.revokeKey(key?.accountId ?? '', key?.id ?? '', 1);
  await first.stop();
  const second = await start('127.0.0.1:0', '');
  const next = (await second.ctx.emulation?.identify(null))?.key;
  await second.stop();
  const third = await start('127.0.0.1:0', '');
  expect((await third.ctx.emulation?.identify(null))?.key.id).toBe(next?.id ?? '');
  await third.stop();
  expect(next).toMatchObject({ name: 'postrider dev', revokedAt: null });
  expect(next?.id).not.toBe(key?.id);
});

test('any number of domains is made, one for each account that sends at once, and anew after it was removed', async () => {
  const appliance = await start('127.0.0.1:0', '');
  const { ctx } = appliance;
  const { emulation } = ctx;
  if (emulation === null) throw new Error('there is no emulator');
  const first = (await emulation.identify(null))?.account.id ?? '';
  const { id: second } = await createAccount(ctx, { name: 'second' });
  const made = await Promise.all([
    emulation.verified(first, 'one.example'),
    emulation.verified(second, 'one.example'),
    emulation.verified(first, 'two.example'),
  ]);
  expect(made.map(({ accountId, name, status }) => [accountId, name, status])).toEqual([
    [first, 'one.example', 'verified'],
    [second, 'one.example', 'verified'],
    [first, 'two.example', 'verified'],
  ]);
  const [one] = made;
  await removeDomain(ctx, first, one?.id ?? '');
  const again = await emulation.verified(first, 'one.example');
  expect([again.id === one?.id, again.deletedAt, again.status]).toEqual([false, null, 'verified']);
  expect((await ctx.store.domains(first)).map(({ id }) => id)).toContain(again.id);
  await appliance.stop();
});
