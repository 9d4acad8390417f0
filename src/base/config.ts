/**
 * The configuration, as the rest of the house reads it: every key present, units in the names.
 *
 * The file's keys and defaults stand in `config-file.ts`, which parses and refuses; here are only the
 * shapes. Times are milliseconds, sizes bytes.
 */

/** A host and port to listen on. */
export interface Listen {
  host: string;
  port: number;
}

export interface Smarthost {
  host: string;
  port: number;
  username: string;
  password: string;
  tls: 'required' | 'opportunistic' | 'none';
}

export interface Route {
  /** `corp.example` or `*.corp.example`, lower-case A-labels. */
  domains: string[];
  target: Smarthost;
}

/** What the operator knows of a provider's limits; in front of the built-in table. */
export interface Provider {
  name: string;
  /** Ends of MX host names, lower case. */
  mx: string[];
  /** Sessions at once. */
  connections: number;
  messagesPerConnection: number;
  /** Null: as fast as the sessions go. */
  messagesPerMinute: number | null;
}

export interface Plan {
  id: string;
  includedEmails: number | null;
  overageSenPerThousand: number | null;
  overageCapSen: number | null;
  maxDomains: number;
  dailyLimit: number | null;
  /** Rows of account age in days and the daily limit from that age on, ages ascending. */
  dailyLimitByAgeDays: [ageDays: number, limit: number][];
  logRetentionDays: number;
  ratePerSecond: number;
  readsPerMinute: number;
  attachmentBytes: number;
  confirmedRecipientsOnly: boolean;
}

export interface Config {
  hostname: string;
  dataDir: string;
  http: {
    listen: Listen;
    publicUrl: string;
    tlsCert: string;
    tlsKey: string;
    /** CIDRs whose X-Forwarded-For is believed. */
    trustedProxies: string[];
    /** CIDRs that may read /metrics and the details of /health. */
    metricsNetworks: string[];
  };
  smtp: {
    inbound: Listen | null;
    submission: Listen[];
    submissions: Listen[];
    tlsCert: string;
    tlsKey: string;
  };
  delivery: {
    mode: 'direct' | 'smarthost' | 'capture';
    port: number;
    sourceAddresses: string[];
    expiresMs: number;
    /** CIDRs, beside the public internet, that mail may be delivered to. */
    allowNetworks: string[];
    smarthost: Smarthost | null;
    routes: Route[];
    /** Recognised by MX host, in front of the built-in table; absent: none. */
    providers?: Provider[];
  };
  /** `host:port` of resolvers; empty: those of /etc/resolv.conf. */
  dnsServers: Listen[];
  extraCaFile: string;
  /** Certificates fetched by the appliance itself (RFC 8555); null: off. */
  acme: { email: string; directoryUrl: string; listen: Listen } | null;
  api: { singleSend: 'basic' | 'full'; region: string };
  limits: { recipients: number };
  webhooks: { allowNetworks: string[] };
  /** `historyMs`: events, attempts and webhook calls; absent: a year. */
  retention: { bodiesMs: number; historyMs?: number };
  /** Rates past which an account is paused, in emails of 1,000; 0: never. Absent: those of config-file.ts. */
  brake?: { bouncesPer1000: number; complaintsPer1000: number };
  /** By id; always holds `unlimited`. */
  plans: ReadonlyMap<string, Plan>;
}

/** The plan every account has by default (decisions, Reading, logs, usage). */
export const UNLIMITED: Plan = {
  id: 'unlimited',
  includedEmails: null,
  overageSenPerThousand: null,
  overageCapSen: null,
  maxDomains: 1_000_000,
  dailyLimit: null,
  dailyLimitByAgeDays: [],
  logRetentionDays: 30,
  ratePerSecond: 100,
  readsPerMinute: 300,
  attachmentBytes: 10_000_000,
  confirmedRecipientsOnly: false,
};
