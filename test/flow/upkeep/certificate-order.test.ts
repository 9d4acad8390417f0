/** What one order hands to the authority's protocol, and what is left of it when it has ended. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  CertificateKeeper,
  certificateFile,
  sharedCertificates,
} from '../../../src/flow/upkeep/certificates.ts';
import * as acme from '../../../src/wire/https/acme.ts';
import type { CertificateOrder } from '../../../src/wire/https/acme.ts';
import { openFixture, type Fixture } from '../fixture.ts';

const NAMES = ['mail.appliance.example', 'api.acme.example'];
const PEM = 'CHAIN\nKEY\n';
const HOUR_MS = 3_600_000;
const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';

let fixture: Fixture;
let orders: CertificateOrder[];
/** The end of the order under way. */
let ends: PromiseWithResolvers<{ key: string; chain: string }>[];

beforeEach(async () => {
  fixture = await openFixture({
    toml: '[http]\npublic_url = "https://api.acme.example"\n[acme]\nlisten = "127.0.0.1:0"\naccept_terms = true\nemail = "ops@acme.example"\ndirectory_url = "https://authority.example/dir"\n',
  });
  [orders, ends] = [[], []];
  spyOn(acme, 'orderCertificate').mockImplementation((order) => {
    const end = Promise.withResolvers<{ key: string; chain: string }>();
    orders.push(order);
    ends.push(end);
    return end.promise;
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await fixture.close();
});

/** Lets everything else run until it is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

const told = (): unknown[] => fixture.logged.map(({ time: _time, ...line }) => line);
const renewed = { level: 'info', event: 'certificate_renewed', names: NAMES };

/** The context with a root of the operator's own for the authority. */
function withOwnRoot() {
  const { ctx, dir } = fixture;
  const extraCaFile = join(dir, 'root.pem');
  writeFileSync(extraCaFile, 'ROOT');
  const startup = { ...ctx.config.startup, tls: { ...ctx.config.startup.tls, extraCaFile } };
  return { ...ctx, config: { ...ctx.config, startup } };
}

test('an order names the authority, the operator and the names, and its answers last as long as it', async () => {
  let renewals = 0;
  const keeper = new CertificateKeeper(withOwnRoot(), () => (renewals += 1));
  keeper.start();
  await until(() => orders.length === 1);
  const [order] = orders;
  if (order === undefined) throw new Error('nothing was ordered');
  expect(order).toEqual({
    directoryUrl: 'https://authority.example/dir',
    accountKey: readFileSync(join(fixture.dir, 'acme', 'account.key'), 'utf8'),
    email: 'ops@acme.example',
    names: NAMES,
    resolver: fixture.ctx.resolver,
    ca: 'ROOT',
    answer: expect.any(Function),
    forget: expect.any(Function),
  });
  const read = async (): Promise<unknown[]> => {
    const url = `http://127.0.0.1:${keeper.port}/.well-known/acme-challenge/one`;
    const response = await fetch(url);
    return [response.status, await response.text()];
  };
  order.answer('one', 'the answer');
  expect(await read()).toEqual([200, 'the answer']);
  order.forget('one');
  expect(await read()).toEqual([404, 'no such challenge\n']);

  ends[0]?.resolve({ key: 'KEY\n', chain: 'CHAIN\n\n' });
  await until(() => renewals === 1);
  expect(readFileSync(certificateFile(fixture.dir), 'utf8')).toBe(PEM);
  expect(told()).toEqual([renewed]);
  await keeper.stop();
});

test('without a root of the operator’s own the public ones count, and the account stays the same', async () => {
  const keeper = new CertificateKeeper(fixture.ctx, () => undefined);
  keeper.start();
  await until(() => orders.length === 1);
  ends[0]?.reject(new Error('rateLimited'));
  await until(() => fixture.logged.length === 1);
  expect(told()).toMatchObject([
    { level: 'error', reason: 'rateLimited', next_in_ms: HOUR_MS, names: NAMES },
  ]);
  await fixture.clock.advance(HOUR_MS);
  await until(() => orders.length === 2);
  expect(orders.map(({ ca }) => ca)).toEqual([null, null]);
  expect(orders[1]?.accountKey).toBe(orders[0]?.accountKey ?? '');
  ends[1]?.reject(new Error('again'));
  await until(() => fixture.logged.length === 2);
  await keeper.stop();
});

test('a certificate that comes after the stop is kept for the next start, and nobody is told', async () => {
  let renewals = 0;
  const keeper = new CertificateKeeper(fixture.ctx, () => (renewals += 1));
  keeper.start();
  await until(() => orders.length === 1);
  await keeper.stop();
  ends[0]?.resolve({ key: 'KEY\n', chain: 'CHAIN\n' });
  await until(() => fixture.logged.length === 1);
  expect([told(), renewals]).toEqual([[renewed], 0]);
  expect(readFileSync(certificateFile(fixture.dir), 'utf8')).toBe(PEM);
});

/** A keeper of a node, on the fixture's store with these verbs in front of it. */
function node(store: Partial<typeof fixture.ctx.store>) {
  const ctx = { ...fixture.ctx, store: { ...fixture.ctx.store, ...store } };
  const certificates = sharedCertificates(ctx);
  const renewals: number[] = [];
  const keeper = new CertificateKeeper(ctx, () => renewals.push(1), {
    certificates,
    store: ctx.store,
  });
  return { keeper, certificates, renewals };
}

test('what a node has ordered stays its own while the store is away, and is no failure', async () => {
  let isAway = false;
  const { store } = fixture.ctx;
  const { keeper, renewals } = node({
    takeJob: () => Promise.resolve(true),
    endJob: () => Promise.resolve(),
    setSetting: (name, value) =>
      isAway ? Promise.reject(new Error('away')) : store.setSetting(name, value),
  });
  keeper.start();
  await until(() => orders.length === 1);
  isAway = true;
  ends[0]?.resolve({ key: 'KEY\n', chain: 'CHAIN\n' });
  await until(() => fixture.logged.length > 0);
  expect(told()).toEqual([renewed]);
  expect([renewals.length, readFileSync(certificateFile(fixture.dir), 'utf8')]).toEqual([1, PEM]);
  await keeper.stop();
});

test('a challenge that nobody knows, or that a store cannot be asked for, is not found', async () => {
  const { keeper } = node({
    setting: (name) => Promise.reject(new Error(`${name} is away`)),
  });
  keeper.start();
  const url = `http://127.0.0.1:${keeper.port}/.well-known/acme-challenge/${TOKEN}`;
  expect((await fetch(url)).status).toBe(404);
  await keeper.stop();
});

test('after an order that succeeds the next look is in half a day, and the waits begin anew', async () => {
  const keeper = new CertificateKeeper(fixture.ctx, () => undefined);
  const waits = (): unknown[] =>
    fixture.logged.flatMap(({ next_in_ms }) => (next_in_ms === undefined ? [] : [next_in_ms]));
  keeper.start();
  let lines = 0;
  for (const [end, restMs] of [
    ['fails', HOUR_MS],
    ['fails', 2 * HOUR_MS],
    // What came is no certificate, so that another one is ordered at the next look.
    ['succeeds', 12 * HOUR_MS],
    ['fails', HOUR_MS],
  ] as const) {
    lines += 1;
    await until(() => orders.length === lines);
    if (end === 'fails') ends.at(-1)?.reject(new Error('rateLimited'));
    else ends.at(-1)?.resolve({ key: 'KEY\n', chain: 'CHAIN\n' });
    await until(() => fixture.logged.length === lines);
    await fixture.clock.advance(restMs - 1);
    expect(orders).toHaveLength(lines);
    await fixture.clock.advance(1);
  }
  await until(() => orders.length === 5);
  expect(waits()).toEqual([HOUR_MS, 2 * HOUR_MS, HOUR_MS]);
  await keeper.stop();
});

test('the rest of all nodes after a refusal is over with the next order: one that succeeds asks for none', async () => {
  const ended: [name: string, restMs: number][] = [];
  const { keeper, certificates } = node({
    takeJob: () => Promise.resolve(true),
    endJob: async (name, _holder, restMs) => void ended.push([name, restMs]),
  });
  keeper.start();
  await until(() => orders.length === 1);
  ends[0]?.reject(new Error('rateLimited'));
  await until(() => ended.length === 3);
  // This store gives the job at the next look.
  await fixture.clock.advance(60_000);
  await until(() => orders.length === 2);
  ends[1]?.resolve({ key: 'KEY\n', chain: 'CHAIN\n' });
  await until(() => ended.length === 5);
  expect(ended).toEqual([
    ['acme_account', 0],
    ['acme_order', HOUR_MS / 4],
    [certificates.orderJob, HOUR_MS],
    ['acme_order', 0],
    [certificates.orderJob, 0],
  ]);
  await keeper.stop();
});

test('while another node makes the account none is ordered and none has failed; it asks again in ten seconds', async () => {
  let isFree = false;
  const asked: string[] = [];
  const { keeper } = node({
    async takeJob(name) {
      asked.push(name);
      return name !== 'acme_account' || isFree;
    },
    endJob: () => Promise.resolve(),
  });
  keeper.start();
  await until(() => asked.includes('acme_account'));
  await fixture.clock.advance(9_999);
  expect([orders, fixture.logged, asked.length]).toEqual([[], [], 3]);
  isFree = true;
  await fixture.clock.advance(1);
  await until(() => orders.length === 1);
  ends[0]?.resolve({ key: 'KEY\n', chain: 'CHAIN\n' });
  await until(() => fixture.logged.length === 1);
  expect(told()).toEqual([renewed]);
  await keeper.stop();
});
