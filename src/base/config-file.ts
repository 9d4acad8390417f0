/**
 * The config file: TOML in, a whole `Config` out, or every problem at once with its line.
 *
 * Promises that nothing is silently ignored: an unknown key, a wrong type, an impossible value and two keys that
 * contradict each other are all refused, with exit code 78 (EX_CONFIG of sysexits.h). Keys and their defaults are
 * read here and documented in `config-text.ts`; a test holds the two together.
 */
import { accessSync, constants, readFileSync } from 'node:fs';

import { UNLIMITED } from './config.ts';
import type { Config, Plan, Provider, Route, Smarthost } from './config.ts';
import { findKeyLines } from './config-lines.ts';
import { ConfigTable } from './config-table.ts';
import type { Problem } from './config-table.ts';
import * as value from './config-values.ts';
import { OperatorError } from './errors.ts';

/** EX_CONFIG. */
export const EXIT_CONFIG = 78;

const REGIONS = ['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'] as const;
const TLS_LEVELS = ['required', 'opportunistic', 'none'] as const;
/** Who may read the numbers when nothing is said. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'];
/** The certificate authority asked by default. */
const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
const HOURS_48_MS = 48 * 3_600_000;
const DAYS_365_MS = 365 * 86_400_000;
const DAYS_30_MS = 30 * 86_400_000;
const MANY = 1_000_000_000;

/** Reads and checks `file`. Throws `OperatorError` with exit code 78. */
export function loadConfig(file: string): Config {
  let toml: string;
  try {
    toml = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `cannot read the config file ${file}: ${reason}`,
      'Name another file with --config, or write one with `postrider init --hostname mail.example.com`.',
      EXIT_CONFIG,
    );
  }
  return parseConfig(toml, file);
}

/** `file` is only a name for messages. Throws `OperatorError` with exit code 78. */
export function parseConfig(toml: string, file: string): Config {
  const problems: Problem[] = [];
  const config = read(toml, problems);
  if (config !== null && problems.length === 0) return config;
  const rows = problems.toSorted((a, b) => a.line - b.line);
  throw new OperatorError(
    rows.map((problem) => `${file}:${problem.line}: ${problem.message}`).join('\n'),
    'Mend the lines above; `postrider check` shows whether all is well.',
    EXIT_CONFIG,
  );
}

function read(toml: string, problems: Problem[]): Config | null {
  let parsed: Record<string, unknown>;
  try {
    parsed = Bun.TOML.parse(toml) as Record<string, unknown>;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    // It repeats the text that it could not read, which may be a password without its quotes.
    const message = said.replaceAll(/: ".*"/gs, '');
    problems.push({ line: lineOfSyntaxError(toml), message });
    return null;
  }
  const top = new ConfigTable(parsed, '', findKeyLines(toml), problems);
  const config: Config = {
    hostname: top.require('hostname', value.hostName, ''),
    dataDir: top.read('data_dir', value.absolutePath, '/var/lib/postrider'),
    http: readHttp(top.table('http')),
    smtp: readSmtp(top.table('smtp')),
    delivery: readDelivery(top.table('delivery')),
    ...readSmallTables(top),
    plans: readPlans(top.tables('plans')),
  };
  top.refuseOthers();
  return config;
}

/** The parser does not say where it stopped: it is the line after the longest beginning that parses. */
function lineOfSyntaxError(toml: string): number {
  const lines = toml.split('\n');
  for (let count = lines.length - 1; count > 0; count -= 1) {
    try {
      Bun.TOML.parse(lines.slice(0, count).join('\n'));
      return count + 1;
    } catch {
      // A shorter beginning, then.
    }
  }
  return 1;
}

/** The tables with one or two keys. */
function readSmallTables(
  top: ConfigTable,
): Pick<
  Config,
  'dnsServers' | 'extraCaFile' | 'acme' | 'api' | 'limits' | 'webhooks' | 'retention' | 'brake'
> {
  const [dns, tls, api] = [top.table('dns'), top.table('tls'), top.table('api')];
  const [limits, webhooks] = [top.table('limits'), top.table('webhooks')];
  const [retention, brake] = [top.table('retention'), top.table('brake')];
  const keys = {
    dnsServers: dns.read('servers', value.listOf(value.listenAddress), []),
    extraCaFile: readFilePath(tls, 'extra_ca_file'),
    acme: readAcme(top.table('acme')),
    api: {
      singleSend: api.read('single_send', value.oneOf('basic', 'full'), 'basic'),
      region: api.read<string>('region', value.oneOf(...REGIONS), 'us-east-1'),
    },
    limits: { recipients: limits.read('recipients', value.wholeNumber(1, 1000), 50) },
    webhooks: { allowNetworks: webhooks.read('allow_networks', value.listOf(value.network), []) },
    retention: {
      bodiesMs: retention.read('bodies', value.duration(0), DAYS_30_MS),
      historyMs: retention.read('history', value.duration(DAYS_30_MS), DAYS_365_MS),
    },
    brake: {
      bouncesPer1000: brake.read('bounces_per_1000', value.wholeNumber(0, 1000), 100),
      complaintsPer1000: brake.read('complaints_per_1000', value.wholeNumber(0, 1000), 5),
    },
  };
  for (const table of [dns, tls, api, limits, webhooks, retention, brake]) table.refuseOthers();
  return keys;
}

/** Off while `listen` is empty. */
function readAcme(table: ConfigTable): Config['acme'] {
  const listen = table.read('listen', value.orEmpty(value.listenAddress), null);
  const email = table.read('email', value.text, '');
  const directoryUrl = table.read('directory_url', value.baseUrl, LETS_ENCRYPT);
  const isAccepted = table.read('accept_terms', value.flag, false);
  table.refuseOthers();
  if (!directoryUrl.startsWith('https:')) {
    table.refuse('directory_url', 'must begin with https:// (RFC 8555 section 6.1)');
  }
  if (listen === null) return null;
  if (!isAccepted) {
    table.refuse(
      'accept_terms',
      "must be true: it accepts the terms of the certificate authority's service",
    );
  }
  return { email, directoryUrl, listen };
}

function readHttp(table: ConfigTable): Config['http'] {
  const listen = { host: '127.0.0.1', port: 8025 };
  const http = {
    listen: table.read('listen', value.listenAddress, listen),
    publicUrl: table.read('public_url', value.siteUrl, ''),
    ...readCertificate(table),
    trustedProxies: table.read('trusted_proxies', value.listOf(value.network), []),
    metricsNetworks: table.read('metrics_networks', value.listOf(value.network), LOOPBACK),
  };
  table.refuseOthers();
  if (http.publicUrl !== '') return http;
  const host = http.listen.host.includes(':') ? `[${http.listen.host}]` : http.listen.host;
  const scheme = http.tlsCert === '' ? 'http' : 'https';
  return { ...http, publicUrl: `${scheme}://${host}:${http.listen.port}` };
}

function readSmtp(table: ConfigTable): Config['smtp'] {
  const smtp = {
    inbound: table.read('inbound', value.orEmpty(value.listenAddress), null),
    submission: table.read('submission', value.listOf(value.listenAddress), []),
    submissions: table.read('submissions', value.listOf(value.listenAddress), []),
    ...readCertificate(table),
  };
  table.refuseOthers();
  return smtp;
}

function readCertificate(table: ConfigTable): { tlsCert: string; tlsKey: string } {
  const tlsCert = readFilePath(table, 'tls_cert');
  const tlsKey = readFilePath(table, 'tls_key');
  if ((tlsCert === '') !== (tlsKey === '')) {
    table.refuse(
      tlsCert === '' ? 'tls_key' : 'tls_cert',
      'needs the other of tls_cert and tls_key',
    );
  }
  return { tlsCert, tlsKey };
}

/** The path of a file that this process can read; empty: off. */
function readFilePath(table: ConfigTable, key: string): string {
  const path = table.read(key, value.orEmpty(value.absolutePath), null);
  if (path === null) return '';
  try {
    accessSync(path, constants.R_OK);
  } catch {
    table.refuse(key, `names a file that cannot be read: ${path}`);
  }
  return path;
}

function readDelivery(table: ConfigTable): Config['delivery'] {
  const smarthost = readTarget(table.table('smarthost'), 587, 'required');
  const mode = table.read('mode', value.oneOf('direct', 'smarthost', 'capture'), 'direct');
  const delivery: Config['delivery'] = {
    mode,
    port: table.read('port', value.wholeNumber(1, 65_535), 25),
    sourceAddresses: table.read('source_addresses', value.listOf(value.ipAddress), []),
    expiresMs: table.read('expires', value.duration(1000), HOURS_48_MS),
    allowNetworks: table.read('allow_networks', value.listOf(value.network), []),
    smarthost,
    routes: table.tables('routes').map((route) => readRoute(route, smarthost)),
    providers: table.tables('providers').map(readProvider),
  };
  if (mode === 'smarthost' && smarthost === null) {
    table.refuse('mode', 'is "smarthost", but delivery.smarthost.host is empty');
  }
  table.refuseOthers();
  return delivery;
}

/** A route without a host of its own leads to the smarthost. */
function readRoute(table: ConfigTable, smarthost: Smarthost | null): Route {
  const domains = table.require('domains', value.listOf(value.domainPattern), []);
  if (table.has('domains') && domains.length === 0) table.refuse('domains', 'names no domain');
  const target = readTarget(table, 25, 'opportunistic') ?? smarthost;
  if (target === null) table.refuse('host', 'is missing, and there is no smarthost');
  const nowhere: Smarthost = { host: '', port: 0, username: '', password: '', tls: 'none' };
  return { domains, target: target ?? nowhere };
}

function readProvider(table: ConfigTable): Provider {
  const positive = value.wholeNumber(1, MANY);
  const provider: Provider = {
    name: table.require('name', value.text, ''),
    mx: table
      .require('mx', value.listOf(value.domainPattern), [])
      .map((pattern) => pattern.replace(/^\*/, '')),
    connections: table.read('connections', value.wholeNumber(1, 1000), 20),
    messagesPerConnection: table.read('messages_per_connection', positive, 100),
    messagesPerMinute: table.read<number | null>('messages_per_minute', positive, null),
  };
  table.refuseOthers();
  return provider;
}

/** Host, port, TLS level and login; null where the host is empty. */
function readTarget(table: ConfigTable, port: number, tls: Smarthost['tls']): Smarthost | null {
  const host = table.read('host', value.orEmpty(value.connectHost), null);
  const target = {
    port: table.read('port', value.wholeNumber(1, 65_535), port),
    username: table.read('username', value.text, ''),
    password: table.read('password', value.secret, ''),
    tls: table.read('tls', value.oneOf(...TLS_LEVELS), tls),
  };
  if ((target.username === '') !== (target.password === '')) {
    table.refuse('username', 'and password belong together: give both or neither');
  }
  table.refuseOthers();
  return host === null ? null : { host, ...target };
}

function readPlans(tables: ConfigTable[]): ReadonlyMap<string, Plan> {
  const plans = new Map([[UNLIMITED.id, UNLIMITED]]);
  for (const table of tables) {
    const plan = readPlan(table);
    if (plan.id === UNLIMITED.id) table.refuse('id', 'is "unlimited", which is built in');
    else if (plans.has(plan.id)) table.refuse('id', `is "${plan.id}" twice`);
    else plans.set(plan.id, plan);
  }
  return plans;
}

function readPlan(table: ConfigTable): Plan {
  const count = value.wholeNumber(0, MANY);
  const orNull = (key: string): number | null => table.read<number | null>(key, count, null);
  const plan: Plan = {
    id: table.require('id', value.text, ''),
    includedEmails: orNull('included_emails'),
    overageSenPerThousand: orNull('overage_sen_per_thousand'),
    overageCapSen: orNull('overage_cap_sen'),
    maxDomains: table.read('max_domains', count, UNLIMITED.maxDomains),
    dailyLimit: orNull('daily_limit'),
    dailyLimitByAgeDays: table.read('daily_limit_by_age_days', value.limitsByAge, []),
    logRetentionDays: table.read('log_retention_days', value.wholeNumber(1, 3650), 30),
    ratePerSecond: table.read('rate_per_second', value.wholeNumber(1, 100_000), 100),
    readsPerMinute: table.read('reads_per_minute', value.wholeNumber(1, 10_000_000), 300),
    attachmentBytes: table.read('attachment_bytes', value.size, UNLIMITED.attachmentBytes),
    confirmedRecipientsOnly: table.read('confirmed_recipients_only', value.flag, false),
  };
  if (table.has('id') && !/^[a-z0-9][a-z0-9_-]{0,39}$/.test(plan.id)) {
    table.refuse('id', 'must be 1 to 40 lower-case letters, digits, "-" or "_"');
  }
  table.refuseOthers();
  return plan;
}
