/**
 * The house's own stub resolver (RFC 1035), because Bun's splits TXT strings and hides NODATA and AD.
 *
 * Promises that no query throws, that equal questions under way share one query, that answers are kept
 * no longer than they may be, and that the AD bit is believed only when every resolver is on loopback:
 * further away anyone on the path can set it (RFC 4035 section 4.9.3). Without servers in the config it uses
 * those of /etc/resolv.conf and notices when the file changes.
 */
import { isIP } from 'node:net';
import type { Listen } from '../base/config.ts';
import type { Clock } from '../base/clock.ts';
import { DnsCache } from './dns-cache.ts';
import { MAX_ALIASES, normalizeName } from './dns-message.ts';
import type { Question, RecordType, Verdict } from './dns-message.ts';
import { askServers, PATIENCE } from './dns-query.ts';
import type { Patience } from './dns-query.ts';
import { readResolvConf } from './resolv-conf.ts';
import type { DnsAnswer, MxRecord, Resolver, TlsaRecord } from './resolver.ts';
import { reverseName } from './reverse-name.ts';

export interface ResolverOptions {
  /** Empty: those of /etc/resolv.conf. */
  servers: readonly Listen[];
  clock: Clock;
  /** Shortened by tests. */
  patience?: Patience;
}

/** How long the servers of /etc/resolv.conf are used before the file is read again. */
const RESOLV_CONF_MS = 30_000;
/** Descriptors that lookups may hold at once; more of them wait. */
const MAX_CONCURRENT = 256;

/** A resolver over UDP and TCP with a cache. `close` ends what is under way with `failed`. */
export function createResolver(options: ResolverOptions): Resolver & { close(): void } {
  const stub = new StubResolver(options);
  const ask = <T>(name: string, type: RecordType, read: (data: unknown) => T) =>
    stub.ask(name, type, read);
  return {
    mx: (name) => ask(name, 'MX', readMx),
    a: (name) => ask(name, 'A', String),
    aaaa: (name) => ask(name, 'AAAA', String),
    txt: (name) => ask(name, 'TXT', readTxt),
    cname: (name) => ask(name, 'CNAME', readName),
    ptr: (address) => ask(reverseName(address) ?? '', 'PTR', readName),
    tlsa: (name) => ask(name, 'TLSA', readTlsa),
    forget: (domain) => stub.forget(domain),
    close: () => stub.close(),
  };
}

class StubResolver {
  readonly #configured: readonly Listen[];
  readonly #clock: Clock;
  readonly #patience: Patience;
  readonly #cache: DnsCache<Verdict>;
  readonly #pending = new Map<string, Promise<Verdict>>();
  readonly #stop = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #system: { servers: Listen[]; readAt: number } | null = null;
  /** The server that answered last: asked first, so that a dead one costs its timeout only once. */
  #preferred: Listen | null = null;

  constructor(options: ResolverOptions) {
    this.#configured = options.servers;
    this.#clock = options.clock;
    this.#patience = options.patience ?? PATIENCE;
    this.#cache = new DnsCache(options.clock);
  }

  close(): void {
    this.#stop.abort();
    this.#cache.clear();
  }

  forget(domain: string): void {
    const name = normalizeName(domain);
    if (name === null || name === '') return;
    this.#cache.deleteWhere((key) => key.endsWith(` ${name}`) || key.endsWith(`.${name}`));
  }

  async ask<T>(name: string, type: RecordType, read: (data: unknown) => T): Promise<DnsAnswer<T>> {
    const normal = normalizeName(name);
    // A name that no server can be asked for does not exist.
    if (normal === null || normal === '') return { kind: 'nxdomain', isAuthenticated: false };
    const verdict = await this.#verdict({ name: normal, type }, MAX_ALIASES);
    switch (verdict.kind) {
      case 'found':
        return {
          kind: 'found',
          records: verdict.data.map(read),
          ttlSeconds: verdict.ttlSeconds,
          isAuthenticated: verdict.isAuthenticData,
        };
      case 'nodata':
      case 'nxdomain':
        return { kind: verdict.kind, isAuthenticated: verdict.isAuthenticData };
      case 'alias':
        return { kind: 'failed', reason: `alias chain too long (${type} ${normal})` };
      case 'failed':
        return verdict;
    }
  }

  /** From the cache, from the same question under way, or from the network. */
  async #verdict(question: Question, aliasesLeft: number): Promise<Verdict> {
    const key = `${question.type} ${question.name}`;
    const kept = this.#cache.get(key);
    let verdict: Verdict;
    if (kept === null) {
      let asking = this.#pending.get(key);
      if (asking === undefined) {
        asking = this.#query(question, key).finally(() => this.#pending.delete(key));
        this.#pending.set(key, asking);
      }
      verdict = await asking;
    } else {
      verdict =
        kept.value.kind === 'failed' ? kept.value : { ...kept.value, ttlSeconds: kept.secondsLeft };
    }
    if (verdict.kind !== 'alias' || aliasesLeft === 0) return verdict;
    const target = await this.#verdict({ ...question, name: verdict.name }, aliasesLeft - 1);
    if (target.kind === 'failed') return target;
    return {
      ...target,
      ttlSeconds: Math.min(verdict.ttlSeconds, target.ttlSeconds),
      isAuthenticData: verdict.isAuthenticData && target.isAuthenticData,
    };
  }

  async #query(question: Question, key: string): Promise<Verdict> {
    if (this.#running >= MAX_CONCURRENT) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      const servers = this.#servers();
      const asked = await askServers(servers, question, this.#patience, this.#stop.signal);
      if (asked.verdict.kind === 'failed') {
        if (!this.#stop.signal.aborted) this.#cache.put(key, asked.verdict);
        return asked.verdict;
      }
      this.#preferred = asked.server;
      // With a resolver further away among them, the SERVFAIL of a forged answer would end in its answer.
      const mayBelieve = servers.every((server) => isLoopback(server.host));
      const isAuthenticData = asked.verdict.isAuthenticData && mayBelieve;
      const verdict: Verdict = { ...asked.verdict, isAuthenticData };
      this.#cache.put(key, verdict);
      return verdict;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #servers(): readonly Listen[] {
    const servers = this.#configured.length > 0 ? this.#configured : this.#systemServers();
    const preferred = this.#preferred;
    if (preferred === null || !servers.includes(preferred)) return servers;
    return [preferred, ...servers.filter((server) => server !== preferred)];
  }

  #systemServers(): Listen[] {
    const now = this.#clock.now();
    const { servers, readAt } = this.#system ?? { servers: [], readAt: 0 };
    if (this.#system !== null && Math.abs(now - readAt) < RESOLV_CONF_MS) return servers;
    const fresh = readResolvConf();
    // Equal servers keep their identity, and with it which one is preferred.
    const kept = JSON.stringify(fresh) === JSON.stringify(servers) ? servers : fresh;
    this.#system = { servers: kept, readAt: now };
    return kept;
  }
}

/** 127.0.0.0/8 and ::1: nobody stands on the way to them. */
export function isLoopback(host: string): boolean {
  return isIP(host) === 4 ? host.startsWith('127.') : host === '::1';
}

function readName(data: unknown): string {
  return String(data).toLowerCase().replace(/\.$/, '');
}

function readMx(data: unknown): MxRecord {
  const { exchange, preference } = data as { exchange: string; preference: number };
  return { exchange: readName(exchange), preference: preference ?? 0 };
}

/** One record's strings make one text without anything between (RFC 7208 section 3.3, RFC 6376 3.6.2.2). */
function readTxt(data: unknown): string {
  return Buffer.concat(data as Buffer[]).toString('utf8');
}

function readTlsa(data: unknown): TlsaRecord {
  const record = data as {
    usage: number;
    selector: number;
    matchingType: number;
    certificate: Buffer;
  };
  return {
    usage: record.usage,
    selector: record.selector,
    matchingType: record.matchingType,
    data: Uint8Array.from(record.certificate),
  };
}
