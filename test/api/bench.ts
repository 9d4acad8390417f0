/**
 * The API over the real store in a temporary directory, without a socket.
 *
 * Promises an account of its own for every `account()`, and that `close` removes everything. What was
 * accepted is collected, not delivered.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigHolder } from '../../src/appliance/config-holder.ts';
import { makeContext } from '../../src/appliance/context.ts';
import { createApi, type Api } from '../../src/api/app.ts';
import { TrustedProxies } from '../../src/api/client-address.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { Config } from '../../src/base/config.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { SecretBox } from '../../src/base/secret-box.ts';
import type { Permission } from '../../src/base/status.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import type { Context } from '../../src/flow/context.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { WebhookDispatcher } from '../../src/flow/webhooks/dispatcher.ts';
import type { Account, Domain } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { openTestStore } from '../store/test-store.ts';
import type { DnsAnswer, Resolver } from '../../src/wire/dns/resolver.ts';

export interface BenchOptions {
  clock?: Clock;
  /** More of the config file. */
  toml?: string;
  resolver?: Partial<Resolver>;
}

export interface Sent {
  status: number;
  headers: Headers;
  text: string;
  // Tests read responses of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

export interface Ask {
  method?: string;
  path: string;
  key?: string | null;
  body?: unknown;
  /** Sent unchanged instead of `body`; a stream is sent without a length. */
  raw?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
}

export interface Bench {
  api: Api;
  ctx: Context;
  /** The context's config, for tests that change it as a reload does. */
  config: ConfigHolder;
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
  const store = await openTestStore(dataDir, log);
  const config = new ConfigHolder(benchConfig(dataDir, options.toml ?? ''));
  const ctx = await makeContext({
    config,
    clock,
    log,
    store,
    resolver: { ...silentResolver, ...options.resolver },
    secrets: new SecretBox(Buffer.alloc(32, 7)),
    metrics: new Metrics(),
  });
  const accepted: NewMessage[] = [];
  const engines = {
    queue: {
      offerAccepted: (messages: NewMessage[]) => accepted.push(...messages),
      offerCalls: () => {},
    },
    webhooks: new WebhookDispatcher(ctx),
  };
  const api = createApi(ctx, engines, new TrustedProxies(ctx));
  await api.start();
  return {
    api,
    ctx,
    config,
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
      ctx.senderDomains.forget();
      return domain;
    },
    async close() {
      await api.stop();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Sends one request through `fetchLike` and reads the whole response. */
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

/** Plans of the tests, one for each limit that a test meets. */
const PLANS = `
  [[plans]]
  id = "starter"
  included_emails = 5
  max_domains = 2
  daily_limit = 3
  rate_per_second = 2
  reads_per_minute = 5
  attachment_bytes = 1000
  [[plans]]
  id = "confirmed"
  confirmed_recipients_only = true
  [[plans]]
  id = "daily"
  daily_limit = 7
  [[plans]]
  id = "fast"
  rate_per_second = 100000
  reads_per_minute = 100000`;

/** `toml`: tables beside http, webhooks and plans. */
function benchConfig(dataDir: string, toml: string): Config {
  return parseConfig(
    `hostname = "mail.rig.test"
     data_dir = ${JSON.stringify(dataDir)}
     [http]
     public_url = "http://127.0.0.1:8025"
     trusted_proxies = ["127.0.0.0/8"]
     [webhooks]
     allow_networks = ["127.0.0.0/8"]
     ${toml}
     ${PLANS}`,
    'bench.toml',
  );
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
