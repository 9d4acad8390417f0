/**
 * The HTTP listener of the appliance: the API on its address, with certificates that can change while it runs.
 *
 * Promises that an address another program holds is refused, and that a change of certificate fails no request and
 * resets no connection: a new server takes the port beside the old one and is given every connection to come, and the
 * old one answers what it has, each answer as its connection's last, until none is left. Where the kernel does not
 * take part (base/shared-port) a connection that is just being made may be reset. Bun.serve's own `reload` changes no
 * certificate and says nothing, so it is not used (test/e2e/certificates.test.ts).
 */
import { createServer } from 'node:net';

import type { Api } from './api/app.ts';
import { IDLE_SECONDS, serveApi } from './api/serve.ts';
import type { ServeOptions } from './api/serve.ts';
import type { Config, Listen } from './base/config.ts';
import { listenFailure } from './base/listening.ts';
import { steerTo } from './base/shared-port.ts';
import { readPair, tlsPair, type TlsPair } from './smtp/certificate.ts';
import { isLoopback } from './wire/dns.ts';

/** Answers a request that is not the API's, or null. */
type Before = NonNullable<ServeOptions['before']>;

type Server = Bun.Server<undefined>;

/** `restart`: between plain and TLS, which only a restart can change. */
export type HttpChange = { kind: 'none' } | { kind: 'restart' } | { kind: 'pair'; pair: TlsPair };

/** A connection without a byte is closed before that anyway. */
const LEAVE_MS = (IDLE_SECONDS + 5) * 1_000;

export class HttpListener {
  readonly #config: Config;
  readonly #api: Pick<Api, 'handle'>;
  readonly #before: Before;
  readonly #leaveMs: number;
  #server: Server | null = null;
  #pair: TlsPair | null = null;
  /** Every server on the port, in the kernel's order. */
  #servers: Server[] = [];
  readonly #leaving = new Map<Server, ReturnType<typeof setTimeout>>();

  /** `before` answers what is not the API's. `leaveMs`: how long an old server keeps its connections. */
  constructor(config: Config, api: Pick<Api, 'handle'>, before: Before, leaveMs = LEAVE_MS) {
    this.#config = config;
    this.#api = api;
    this.#before = before;
    this.#leaveMs = leaveMs;
  }

  /** Listens. Throws `OperatorError` when the address is in use or a certificate will not do. */
  async start(): Promise<void> {
    const { listen } = this.#config.http;
    this.#pair = pairOf(this.#config);
    try {
      // Ports that are shared for a change of certificate would be shared with a stranger too: ask alone first.
      if (this.#pair !== null) await claim(listen);
      this.#server = this.#serve(listen, this.#pair);
    } catch (error) {
      throw listenFailure('http.listen', listen, error);
    }
  }

  /** What `config` and the files it names would change here. Throws `OperatorError` when they will not do. */
  prepare(config: Config): HttpChange {
    const pair = pairOf(config);
    if (pair?.cert === this.#pair?.cert && pair?.key === this.#pair?.key) return { kind: 'none' };
    if (pair === null || this.#pair === null) return { kind: 'restart' };
    return { kind: 'pair', pair };
  }

  /** Shows another certificate from now on. Throws `OperatorError`, and goes on with the old one. */
  change(pair: TlsPair): void {
    const old = this.#server;
    if (old === null) throw new Error('not listening yet');
    const port = old.port ?? 0;
    const listen = { host: this.#config.http.listen.host, port };
    try {
      this.#server = this.#serve(listen, pair);
    } catch (error) {
      throw listenFailure('http.listen', listen, error);
    }
    this.#pair = pair;
    const isSteered = steerTo(port, this.#servers.length - 1);
    const wait = setTimeout(() => this.#retire(old), isSteered ? this.#leaveMs : 0);
    this.#leaving.set(old, wait);
  }

  /** The base URL as seen from this machine; throws before `start`. */
  url(): string {
    if (this.#server === null) throw new Error('not listening yet');
    const { hostname, port } = this.#server;
    const host = hostname?.includes(':') === true ? `[${hostname}]` : hostname;
    return `${this.#pair === null ? 'http' : 'https'}://${host}:${port}`;
  }

  /** No new request; resolves when those under way are answered. */
  async stop(): Promise<void> {
    for (const wait of this.#leaving.values()) clearTimeout(wait);
    await Promise.all(this.#servers.splice(0).map((server) => server.stop()));
  }

  #serve(listen: Listen, tls: TlsPair | null): Server {
    const server = serveApi(this.#api, {
      listen,
      tls,
      isSharingPort: tls !== null,
      isLeaving: () => this.#leaving.has(server),
      before: this.#before,
    });
    this.#servers.push(server);
    return server;
  }

  #retire(old: Server): void {
    const place = this.#servers.indexOf(old);
    const last = this.#servers.pop();
    if (place < 0 || last === undefined || this.#server === null) return;
    void old.stop().then(() => this.#leaving.delete(old));
    // As the kernel does.
    if (last !== old) this.#servers[place] = last;
    steerTo(this.#server.port ?? 0, this.#servers.indexOf(this.#server));
  }
}

function pairOf(config: Config): TlsPair | null {
  if (config.http.tlsCert !== '') return readPair(config, 'http');
  return isFetching(config) ? tlsPair(config, Date.now()) : null;
}

/** The certificate of [acme] is for an address that clients reach themselves, not for one behind a proxy. */
function isFetching({ acme, http }: Config): boolean {
  return acme !== null && http.publicUrl.startsWith('https:') && !isLoopback(http.listen.host);
}

/** Binds alone for a moment; throws EADDRINUSE when anybody else listens. */
async function claim({ host, port }: Listen): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port, exclusive: true }, resolve);
  });
  await new Promise<void>((resolve) => {
    probe.close(() => resolve());
  });
}
