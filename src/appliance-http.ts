/**
 * The HTTP listener of the appliance: the API on its address, with certificates that can change while it runs.
 *
 * Promises that an address another program holds is refused, and that a change of certificate loses no request that has
 * begun: the new server takes the port beside the old one, which answers what it has. A connection that is just being
 * made in that moment may be reset; the kernel gives it to one of the two. Bun.serve's own `reload` changes no
 * certificate and says nothing, so it is not used (test/e2e/certificates.test.ts).
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

import type { Api } from './api/app.ts';
import { serveApi } from './api/serve.ts';
import type { ServeOptions } from './api/serve.ts';
import type { Config, Listen } from './base/config.ts';
import { OperatorError } from './base/errors.ts';
import { checkPair, tlsPair } from './smtp/certificate.ts';

/** Answers a request that is not the API's, or null. */
type Before = NonNullable<ServeOptions['before']>;

interface Pair {
  cert: string;
  key: string;
}

export class HttpListener {
  readonly #config: Config;
  readonly #api: Api;
  readonly #before: Before;
  #server: Bun.Server<undefined> | null = null;
  #pair: Pair | null = null;

  /** `config` is read again at each `reload`. `before` answers what is not the API's. */
  constructor(config: Config, api: Api, before: Before) {
    this.#config = config;
    this.#api = api;
    this.#before = before;
  }

  /** Listens. Throws `OperatorError` when the address is in use or a certificate will not do. */
  async start(): Promise<void> {
    const { listen } = this.#config.http;
    this.#pair = this.#readPair();
    try {
      // Ports that are shared for a change of certificate would be shared with a stranger too: ask alone first.
      if (this.#pair !== null) await claim(listen);
      this.#server = this.#serve(listen, this.#pair);
    } catch (error) {
      throw refusal(error, listen);
    }
  }

  /** Takes over changed certificate files. Throws `OperatorError`, and goes on with the old ones. */
  reload(): boolean {
    const old = this.#server;
    const pair = this.#readPair();
    const isSame = pair?.cert === this.#pair?.cert && pair?.key === this.#pair?.key;
    if (old === null || isSame) return false;
    if (pair === null || this.#pair === null) {
      throw new OperatorError(
        'HTTP can not change between plain and TLS while it runs',
        'Restart the server to take over http.tls_cert and http.tls_key.',
      );
    }
    const listen = { host: this.#config.http.listen.host, port: old.port ?? 0 };
    try {
      this.#server = this.#serve(listen, pair);
    } catch (error) {
      throw refusal(error, listen);
    }
    this.#pair = pair;
    void old.stop();
    return true;
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
    await this.#server?.stop();
  }

  #serve(listen: Listen, tls: Pair | null): Bun.Server<undefined> {
    return serveApi(this.#api, {
      listen,
      tls,
      isSharingPort: tls !== null,
      before: this.#before,
    });
  }

  /** The certificate of [acme] is for an address that clients reach themselves, not for one behind a proxy. */
  #isFetching(): boolean {
    const { acme, http } = this.#config;
    const isLocal = http.listen.host === '::1' || http.listen.host.startsWith('127.');
    return acme !== null && http.publicUrl.startsWith('https:') && !isLocal;
  }

  #readPair(): Pair | null {
    const { tlsCert, tlsKey } = this.#config.http;
    if (tlsCert === '') return this.#isFetching() ? tlsPair(this.#config, Date.now()) : null;
    return checkPair(readFileSync(tlsCert, 'utf8'), readFileSync(tlsKey, 'utf8'), tlsCert);
  }
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

function refusal(error: unknown, { host, port }: Listen): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new OperatorError(
      `http.listen: ${host} port ${port} is in use by another program`,
      'Stop that program, or choose another address in the config file.',
    );
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    return new OperatorError(
      `http.listen: cannot listen on ${host} port ${port}: ${message}`,
      'Choose an address of this machine, and a port above 1023 unless the service may use low ones.',
    );
  }
  return error;
}
