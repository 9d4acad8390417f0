/**
 * Our own stub resolver (RFC 1035), because Bun's splits TXT strings and hides NODATA and AD.
 *
 * The story of this folder. Everything that needs DNS asks a `Resolver` (`resolver.ts`, so that tests can answer
 * instead). This file answers from its cache (`cache.ts`), joins an equal question under way, or sends the question
 * (`message.ts`, `query.ts`) to the servers of the config or of /etc/resolv.conf (`resolv-conf.ts`). On top of it stand
 * the questions of mail: the mail hosts of a domain (`mx.ts`), SPF (`spf.ts`), whether IPv6 is usable (`ipv6.ts`). An
 * answer is found, missing or failed, and these are never mixed up. Nothing is kept on disk.
 *
 * Promises that no query throws, that equal questions under way share one query, that answers are kept no longer than
 * their TTL, and that the AD bit counts only when every resolver is on loopback: anyone on a longer path can set it
 * (RFC 4035 section 4.9.3). Without servers in the config it notices when /etc/resolv.conf changes.
 */
import type { Listen } from '../../base/config.ts';
import type { Clock } from '../../base/clock.ts';
import { parseNetworks } from '../addresses/networks.ts';
import { DnsCache } from './cache.ts';
import { MAX_ALIASES, normalizeName } from './message.ts';
import type { Question, RawAnswer, RecordType } from './message.ts';
import { Pace } from './pace.ts';
import { askServers, PATIENCE } from './query.ts';
import type { Patience } from './query.ts';
import { readResolvConf } from './resolv-conf.ts';
import type { DnsAnswer, MxRecord, Resolver, TlsaRecord } from './resolver.ts';
import { reverseName } from './reverse-name.ts';

export interface ResolverOptions {
  /** Empty: those of /etc/resolv.conf. */
  servers: readonly Listen[];
  clock: Clock;
  /** Shortened by tests. */
  patience?: Patience;
  /** The machine's servers; default: reads /etc/resolv.conf. */
  readSystem?: () => Listen[];
}

/** How long the servers of /etc/resolv.conf are used before the file is read again. */
const RESOLV_CONF_MS = 30_000;
/** Lookups that may use a descriptor at once; further ones wait. */
const MAX_CONCURRENT = 256;
/** Nothing stands between this machine and itself. */
const LOOPBACK = parseNetworks(['127.0.0.0/8', '::1']);

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
  readonly #readSystem: () => Listen[];
  readonly #cache: DnsCache<RawAnswer>;
  readonly #pending = new Map<string, Promise<RawAnswer>>();
  readonly #pace = new Pace();
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
    this.#readSystem = options.readSystem ?? readResolvConf;
    this.#cache = new DnsCache(options.clock);
  }

  close(): void {
    this.#stop.abort();
  }

  forget(domain: string): void {
    const name = normalizeName(domain);
    if (name === null || name === '') return;
    this.#cache.deleteWhere((key) => key.endsWith(` ${name}`) || key.endsWith(`.${name}`));
  }

  async ask<T>(name: string, type: RecordType, read: (data: unknown) => T): Promise<DnsAnswer<T>> {
    const normal = normalizeName(name);
    // A name that cannot stand in a question does not exist.
    if (normal === null || normal === '') return { kind: 'nxdomain', isAuthenticated: false };
    const answer = await this.#answerTo({ name: normal, type }, MAX_ALIASES);
    switch (answer.kind) {
      case 'found':
        return {
          kind: 'found',
          records: answer.data.map(read),
          ttlSeconds: answer.ttlSeconds,
          isAuthenticated: answer.isAuthenticData,
        };
      case 'nodata':
      case 'nxdomain':
        return { kind: answer.kind, isAuthenticated: answer.isAuthenticData };
      case 'alias':
        return { kind: 'failed', reason: `alias chain too long (${type} ${normal})` };
      case 'failed':
        return answer;
    }
  }

  /** From the cache, from the same question under way, or from the network. */
  async #answerTo(question: Question, aliasesLeft: number): Promise<RawAnswer> {
    const key = `${question.type} ${question.name}`;
    const kept = this.#cache.get(key);
    let answer: RawAnswer;
    if (kept === null) {
      let asking = this.#pending.get(key);
      if (asking === undefined) {
        asking = this.#query(question, key).finally(() => this.#pending.delete(key));
        this.#pending.set(key, asking);
      }
      answer = await asking;
    } else {
      answer =
        kept.value.kind === 'failed' ? kept.value : { ...kept.value, ttlSeconds: kept.secondsLeft };
    }
    if (answer.kind !== 'alias' || aliasesLeft === 0) return answer;
    const target = await this.#answerTo({ ...question, name: answer.name }, aliasesLeft - 1);
    if (target.kind === 'failed') return target;
    return {
      ...target,
      ttlSeconds: Math.min(answer.ttlSeconds, target.ttlSeconds),
      isAuthenticData: answer.isAuthenticData && target.isAuthenticData,
    };
  }

  async #query(question: Question, key: string): Promise<RawAnswer> {
    if (this.#running >= MAX_CONCURRENT) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
    try {
      const servers = this.#servers();
      const asked = await askServers(
        servers,
        question,
        this.#patience,
        this.#stop.signal,
        this.#pace,
      );
      if (asked.answer.kind === 'failed') {
        if (!this.#stop.signal.aborted) this.#cache.put(key, asked.answer);
        return asked.answer;
      }
      this.#preferred = asked.server;
      // One remote resolver among them is enough: after a local SERVFAIL for a forged answer, it would answer with it.
      const mayBelieve = servers.every((server) => isLoopback(server.host));
      const isAuthenticData = asked.answer.isAuthenticData && mayBelieve;
      const answer: RawAnswer = { ...asked.answer, isAuthenticData };
      this.#cache.put(key, answer);
      return answer;
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
    const now = this.#clock.steady();
    const { servers, readAt } = this.#system ?? { servers: [], readAt: 0 };
    if (this.#system !== null && Math.abs(now - readAt) < RESOLV_CONF_MS) return servers;
    const fresh = this.#readSystem();
    // An equal list stays the same object, which remembers the preferred server.
    const kept = JSON.stringify(fresh) === JSON.stringify(servers) ? servers : fresh;
    this.#system = { servers: kept, readAt: now };
    return kept;
  }
}

/** Whether an address, however spelled, is this machine's own loopback: no one can change an answer on its way. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host);
}

function readName(data: unknown): string {
  return String(data).toLowerCase().replace(/\.$/, '');
}

function readMx(data: unknown): MxRecord {
  const { exchange, preference } = data as { exchange: string; preference: number };
  return { exchange: readName(exchange), preference };
}

/** One record's strings make one text without anything between (RFC 7208 section 3.3, RFC 6376 section 3.6.2.2). */
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
