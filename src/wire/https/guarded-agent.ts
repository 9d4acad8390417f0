/**
 * Connections for guarded requests: each is resolved, checked and verified before it is handed over.
 *
 * Promises, before a byte of a request is written: no connection goes to an address that may not be dialled, the
 * address of the finished socket is the checked one, and TLS 1.2 or later was verified. Dials the IP address with the
 * name as TLS server name: node:https never resolves anything itself. Idle connections are kept a few seconds; every
 * new one is checked anew. Fails with a `ConnectError` whose text does not tell what was found at the other end.
 */
import { Agent, type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { type Duplex } from 'node:stream';
import {
  connect,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { isOutOfDescriptors, isShortage } from '../local-errors.ts';
import { findAddresses } from './target.ts';
import { isSameAddress, type Networks } from '../addresses/networks.ts';
import { AddressGuard } from '../addresses/address-guard.ts';
import type { Resolver } from '../dns/resolver.ts';

/** Below the 5 s after which common servers close idle connections, so that reuse rarely meets a closed one. */
const IDLE_MS = 4_000;
/** Longest wait for one address while others are left to try. */
const NEXT_ADDRESS_MS = 3_000;
const MAX_ADDRESSES = 4;

export interface GuardedAgentOptions {
  resolver: Pick<Resolver, 'a' | 'aaaa'>;
  /** Networks the operator allows in addition to the public internet. */
  allowNetworks: Networks;
  /** PEM certificates of private CAs, in addition to the public roots. */
  ca: readonly string[];
  /** How long an idle connection is kept, in milliseconds; default: 4 s. */
  idleMs?: number;
}

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** Our own rules forbade it. */
  readonly isRefused: boolean;
  /** This machine ran out of something; it says nothing of the other side. */
  readonly isLocal: boolean;

  constructor(message: string, { isRefused = false, isLocal = false } = {}) {
    super(message);
    this.isRefused = isRefused;
    this.isLocal = isLocal;
  }
}

const shortage = (): ConnectError =>
  new ConnectError('this machine has no socket left', { isLocal: true });

/** What `createConnection` needs to know of the request that waits for the connection. */
export interface GuardedOptions extends RequestOptions {
  guard: { host: string; port: number; signal: AbortSignal };
}

type Handover = (error: Error | null, socket?: Duplex) => void;

export class GuardedAgent extends Agent {
  readonly #resolver: GuardedAgentOptions['resolver'];
  readonly #addressGuard: AddressGuard;
  readonly #secureContext: SecureContext;

  /** `destroy()` closes the idle connections. */
  constructor(options: GuardedAgentOptions) {
    super({ keepAlive: true, maxFreeSockets: 4, timeout: options.idleMs ?? IDLE_MS });
    this.#resolver = options.resolver;
    this.#addressGuard = new AddressGuard(options.allowNetworks);
    // A `ca` replaces the public roots (node:tls), so both are given.
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(options.ca.length > 0 && { ca: [...rootCertificates, ...options.ca] }),
    });
  }

  /** Called by node:https for every new connection; the result comes by the callback. */
  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    void this.#hand((options as GuardedOptions).guard, callback as Handover);
    return undefined;
  }

  async #hand(guard: GuardedOptions['guard'], done: Handover): Promise<void> {
    const result = await this.#open(guard.host, guard.port, guard.signal).catch((error: Error) =>
      isShortage(error) ? shortage() : error,
    );
    if (result instanceof Error) done(result);
    else done(null, result);
  }

  async #open(host: string, port: number, signal: AbortSignal): Promise<TLSSocket> {
    const found = await findAddresses(host, this.#resolver, this.#addressGuard);
    // A lookup needs a descriptor too.
    if (found.kind === 'failed' && isOutOfDescriptors()) throw shortage();
    if (found.kind !== 'found') {
      throw new ConnectError(found.reason, { isRefused: found.kind === 'refused' });
    }
    const addresses = found.addresses.slice(0, MAX_ADDRESSES);
    let failure: unknown;
    for (const [index, address] of addresses.entries()) {
      if (signal.aborted) break;
      const isLast = index === addresses.length - 1;
      try {
        return await this.#dial(host, port, address, signal, isLast ? null : NEXT_ADDRESS_MS);
      } catch (error) {
        failure = error;
      }
    }
    throw failure ?? new ConnectError('the deadline passed');
  }

  #dial(
    host: string,
    port: number,
    address: string,
    signal: AbortSignal,
    timeoutMs: number | null,
  ): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: address,
        port,
        // RFC 6066 section 3: no IP address as server name; the certificate is then checked against `host`.
        ...(isIP(host) === 0 && { servername: host }),
        secureContext: this.#secureContext,
        ALPNProtocols: ['http/1.1'],
        // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED would turn the default off.
        rejectUnauthorized: true,
      });
      const fail = (error: Error): void => {
        settle();
        socket.on('error', () => undefined);
        socket.destroy();
        reject(error);
      };
      const abort = (): void => fail(new ConnectError('the deadline passed'));
      const timer = timeoutMs === null ? undefined : setTimeout(abort, timeoutMs);
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        socket.removeListener('error', fail);
      };
      socket.on('error', fail);
      signal.addEventListener('abort', abort, { once: true });
      socket.once('secureConnect', () => {
        const remote = socket.remoteAddress ?? '';
        if (!socket.authorized) return fail(new ConnectError('TLS verification failed'));
        if (!isSameAddress(remote, address) || !this.#addressGuard.allows(remote)) {
          const seen = 'connected to another address than was checked';
          return fail(new ConnectError(seen, { isRefused: true }));
        }
        settle();
        resolve(socket);
      });
    });
  }
}
