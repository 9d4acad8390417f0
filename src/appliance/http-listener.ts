/**
 * The HTTP listener of the appliance: the API on its address, with certificates that can change while it runs.
 *
 * Promises that an address another program holds is refused, and that a change of certificate fails no request and
 * resets no connection: a new server shares the port with the old one and gets every new connection; the old one
 * answers on the connections it has, closing each after its next response, until none is left. Where the kernel does
 * not steer connections (base/shared-port), one that is just being opened may be reset. Bun.serve's own `reload`
 * changes no certificate and reports no error, so it is not used (test/e2e/certificates.test.ts).
 */
import { createServer } from 'node:net';

import type { Api } from '../api/app.ts';
import { IDLE_SECONDS, serveApi } from '../api/serve.ts';
import type { ServeOptions } from '../api/serve.ts';
import { UnreadBodies } from '../api/unread-body.ts';
import type { Config, Listen } from '../base/config.ts';
import { listenFailure } from '../base/listening.ts';
import { steerTo } from '../base/shared-port.ts';
import { readPair, tlsPair, type TlsPair } from '../smtp/certificate.ts';
import { isLoopback } from '../wire/dns/dns.ts';

/** Answers a request that is not the API's, or null. */
type Before = NonNullable<ServeOptions['before']>;

type Server = Bun.Server<undefined>;

/** `restart`: between plain and TLS, which only a restart can change. */
export type HttpChange = { kind: 'none' } | { kind: 'restart' } | { kind: 'pair'; pair: TlsPair };

/** By then an idle connection has been closed anyway. */
const LEAVE_MS = (IDLE_SECONDS + 5) * 1_000;
/** A stop cuts connections once all responses have been handed over for this long. */
const TAKEN_MS = 1_000;
const TICK_MS = 50;

export class HttpListener {
  readonly #config: Config;
  readonly #api: Pick<Api, 'handle' | 'requestId'>;
  readonly #before: Before;
  readonly #leaveMs: number;
  #server: Server | null = null;
  #pair: TlsPair | null = null;
  /** Every server on the port, in the kernel's order. */
  #servers: Server[] = [];
  readonly #leaving = new Map<Server, ReturnType<typeof setTimeout>>();
  /** Of servers that rest and still have connections. */
  readonly #ending = new Set<Promise<void>>();
  readonly #unread = new UnreadBodies();
  /** Where it listens again after a rest. */
  #port = 0;

  /** `before` answers what is not the API's. `leaveMs`: how long an old server keeps its connections. */
  constructor(
    config: Config,
    api: Pick<Api, 'handle' | 'requestId'>,
    before: Before,
    leaveMs = LEAVE_MS,
  ) {
    this.#config = config;
    this.#api = api;
    this.#before = before;
    this.#leaveMs = leaveMs;
  }

  /** Listens. Throws `OperatorError` when the address is in use or a certificate cannot be used. */
  async start(): Promise<void> {
    const { listen } = this.#config.startup.http;
    this.#pair = pairOf(this.#config);
    try {
      // A port opened for sharing would be shared with another program too: first try to bind it alone.
      if (this.#pair !== null) await claim(listen);
      this.#server = this.#serve(listen, this.#pair);
    } catch (error) {
      throw listenFailure('http.listen', listen, error);
    }
  }

  /** What `config` and the files it names would change here. Throws `OperatorError` when they cannot be used. */
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
    if (this.#servers.length === 0) {
      // At rest: `listenAgain` shows it.
      this.#pair = pair;
      return;
    }
    const port = old.port ?? 0;
    const listen = { host: this.#config.startup.http.listen.host, port };
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

  /** Accepts no connection until `listenAgain`; on those that are open the next response is the last. */
  rest(): void {
    if (this.#servers.length === 0) return;
    // A server that has stopped does not say it any more.
    this.#port = this.#server?.port ?? this.#port;
    for (const wait of this.#leaving.values()) clearTimeout(wait);
    for (const server of this.#servers.splice(0)) {
      this.#leaving.set(
        server,
        setTimeout(() => undefined, 0),
      );
      const ended = server.stop().then(() => {
        this.#leaving.delete(server);
        this.#ending.delete(ended);
      });
      this.#ending.add(ended);
    }
  }

  /** Accepts connections again. Rejects when the address cannot be had. */
  async listenAgain(): Promise<void> {
    if (this.#server === null || this.#servers.length > 0) return;
    const { host } = this.#config.startup.http.listen;
    this.#server = this.#serve({ host, port: this.#port }, this.#pair);
  }

  /** The base URL as seen from this machine; throws before `start`. */
  url(): string {
    if (this.#server === null) throw new Error('not listening yet');
    const { hostname, port } = this.#server;
    const host = hostname?.includes(':') === true ? `[${hostname}]` : hostname;
    return `${this.#pair === null ? 'http' : 'https'}://${host}:${port}`;
  }

  /** No new request; resolves when those under way are answered. Waits for no body of a request that was refused. */
  async stop(): Promise<void> {
    for (const wait of this.#leaving.values()) clearTimeout(wait);
    this.#unread.end();
    const servers = [...new Set([...this.#servers.splice(0), ...this.#leaving.keys()])];
    const ended = Promise.all([...servers.map((server) => server.stop()), ...this.#ending]);
    const cutting = cutWhenAnswered(servers);
    await ended;
    clearInterval(cutting);
  }

  #serve(listen: Listen, tls: TlsPair | null): Server {
    const server = serveApi(this.#api, {
      listen,
      tls,
      isSharingPort: tls !== null,
      isLeaving: () => this.#leaving.has(server),
      unread: this.#unread,
      before: this.#before,
    });
    this.#servers.push(server);
    return server;
  }

  #retire(old: Server): void {
    const index = this.#servers.indexOf(old);
    const last = this.#servers.pop();
    if (index < 0 || last === undefined || this.#server === null) return;
    void old.stop().then(() => this.#leaving.delete(old));
    // The kernel fills the gap with its last socket too.
    if (last !== old) this.#servers[index] = last;
    steerTo(this.#server.port ?? 0, this.#servers.indexOf(this.#server));
  }
}

/**
 * Bun waits for the rest of a body whose request was answered long ago, until the connection has been idle for
 * `IDLE_SECONDS`.
 */
function cutWhenAnswered(servers: readonly Server[]): ReturnType<typeof setInterval> {
  let answeredMs = 0;
  return setInterval(() => {
    const isAnswered = servers.every(({ pendingRequests }) => pendingRequests === 0);
    answeredMs = isAnswered ? answeredMs + TICK_MS : 0;
    if (answeredMs < TAKEN_MS) return;
    for (const server of servers) void server.stop(true);
  }, TICK_MS);
}

function pairOf(config: Config): TlsPair | null {
  if (config.live.http.tlsCert !== '') return readPair(config, 'http');
  return isFetching(config) ? tlsPair(config, Date.now()) : null;
}

/** The certificate of [acme] is for an address that clients reach themselves, not for one behind a proxy. */
function isFetching({ startup, live }: Config): boolean {
  const isReached = !isLoopback(startup.http.listen.host);
  return startup.acme !== null && live.http.publicUrl.startsWith('https:') && isReached;
}

/** Binds alone for a moment; throws EADDRINUSE when another program listens. */
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
