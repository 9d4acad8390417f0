/**
 * The API over the real store in a temporary directory, without a socket.
 *
 * Promises an account of its own for every `account()`, and that `close` removes everything. What was
 * accepted is gathered, not delivered.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi, type Api } from '../../src/api/app.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { UNLIMITED, type Config, type Plan } from '../../src/base/config.ts';
import { createLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import type { Permission } from '../../src/base/status.ts';
import { createAccount } from '../../src/flow/accounts.ts';
import type { Context } from '../../src/flow/context.ts';
import { addDomain } from '../../src/flow/domains.ts';
import { forgetDomains } from '../../src/flow/domain-lookup.ts';
import { createKey } from '../../src/flow/keys.ts';
import { WebhookDispatcher } from '../../src/flow/webhooks.ts';
import type { Account, Domain } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/store.ts';
import { openStore } from '../../src/store/sqlite.ts';
import type { DnsAnswer, Resolver } from '../../src/wire/resolver.ts';

export interface BenchOptions {
  clock?: Clock;
  config?: (config: Config) => Config;
  resolver?: Partial<Resolver>;
}

export interface Sent {
  status: number;
  headers: Headers;
  text: string;
  // Tests look into answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

export interface Ask {
  method?: string;
  path: string;
  key?: string | null;
  body?: unknown;
  /** Sent as it is, in place of `body`; a stream goes without a length. */
  raw?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
}

export interface Bench {
  api: Api;
  ctx: Context;
  accepted: NewMessage[];
  logLines: string[];
  ask: (what: Ask) => Promise<Sent>;
  account(name: string, plan?: string): Promise<Account>;
  key(account: Account, permission?: Permission, isTest?: boolean): Promise<string>;
  /** A domain that counts as verified. */
  domain(account: Account, name: string): Promise<Domain>;
  close: () => Promise<void>;
}

const HOST = 'http://api.test';

export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-api-'));
  const clock = options.clock ?? systemClock;
  const logLines: string[] = [];
  const log = createLog(
    (line) => logLines.push(line),
    () => clock.now(),
  );
  const store = await openStore({ dataDir, clock, log });
  const config = (options.config ?? ((same) => same))(benchConfig(dataDir));
  const ctx: Context = {
    config,
    clock,
    log,
    store,
    resolver: { ...silentResolver, ...options.resolver },
    secrets: new SecretBox(Buffer.alloc(32, 7)),
    metrics: new Metrics(),
  };
  const accepted: NewMessage[] = [];
  const api = createApi(ctx, {
    queue: { offerAccepted: (messages) => accepted.push(...messages), offerCalls: () => {} },
    webhooks: new WebhookDispatcher(ctx),
  });
  await api.start();
  return {
    api,
    ctx,
    accepted,
    logLines,
    ask: (what) => askApi((request) => api.handle(request, '127.0.0.1'), HOST, what),
    account: (name, plan) => createAccount(ctx, { name, ...(plan !== undefined && { plan }) }),
    async key(account, permission = 'full_access', isTest = false) {
      return (await createKey(ctx, account.id, { name: 'bench', permission, isTest })).token;
    },
    async domain(account, name) {
      const domain = await addDomain(ctx, account, name);
      const now = clock.now();
      await ctx.store.finishDomainCheck({
        id: domain.id,
        now,
        status: 'verified',
        recordStates: { DKIM: 'verified', SPF: 'verified', DMARC: 'pending' },
        verifiedAt: now,
        nextCheckAt: null,
        failingSince: null,
        pendingSince: now,
      });
      forgetDomains(ctx);
      return domain;
    },
    async close() {
      await api.stop();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Sends one request through `fetchLike` and reads the whole answer. */
export async function askApi(
  fetchLike: (request: Request) => Promise<Response>,
  base: string,
  { method, path, key, body, raw, headers }: Ask,
): Promise<Sent> {
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const verb = method ?? (payload === undefined ? 'GET' : 'POST');
  const request = new Request(`${base}${path}`, {
    method: verb,
    headers: {
      ...(key !== null && key !== undefined && { authorization: `Bearer ${key}` }),
      ...(payload !== undefined && {
        'content-type': 'application/json',
        ...(!(payload instanceof ReadableStream) && {
          'content-length': String(Buffer.byteLength(payload)),
        }),
      }),
      ...headers,
    },
    ...(payload !== undefined && { body: payload }),
  });
  const response = await fetchLike(request);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function benchConfig(dataDir: string): Config {
  const starter: Plan = {
    ...UNLIMITED,
    id: 'starter',
    includedEmails: 5,
    maxDomains: 2,
    dailyLimit: 3,
    ratePerSecond: 2,
    readsPerMinute: 5,
    attachmentBytes: 1_000,
  };
  return {
    hostname: 'mail.rig.test',
    dataDir,
    http: {
      listen: { host: '127.0.0.1', port: 0 },
      publicUrl: 'http://127.0.0.1:8025',
      tlsCert: '',
      tlsKey: '',
      trustedProxies: ['127.0.0.0/8'],

      metricsNetworks: [],
    },
    smtp: { inbound: null, submission: [], submissions: [], tlsCert: '', tlsKey: '' },
    delivery: {
      mode: 'direct',
      port: 25,
      sourceAddresses: [],
      expiresMs: 48 * 3_600_000,
      allowNetworks: [],
      smarthost: null,
      routes: [],
    },
    dnsServers: [],
    extraCaFile: '',
    acme: null,
    api: { singleSend: 'basic', region: 'us-east-1' },
    limits: { recipients: 50 },
    webhooks: { allowNetworks: ['127.0.0.0/8'] },
    retention: { bodiesMs: 30 * 86_400_000 },
    plans: new Map([
      [UNLIMITED.id, UNLIMITED],
      [starter.id, starter],
      ['confirmed', { ...UNLIMITED, id: 'confirmed', confirmedRecipientsOnly: true }],
      ['daily', { ...UNLIMITED, id: 'daily', dailyLimit: 7 }],
      ['fast', { ...UNLIMITED, id: 'fast', ratePerSecond: 100_000, readsPerMinute: 100_000 }],
    ]),
  };
}

const nothing = <T>(): Promise<DnsAnswer<T>> =>
  Promise.resolve({ kind: 'nodata', isAuthenticated: false });

const silentResolver: Resolver = {
  mx: nothing,
  a: () =>
    Promise.resolve({
      kind: 'found',
      records: ['127.0.0.1'],
      ttlSeconds: 60,
      isAuthenticated: false,
    }),
  aaaa: nothing,
  txt: nothing,
  cname: nothing,
  ptr: nothing,
  tlsa: nothing,
};
