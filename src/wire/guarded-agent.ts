/**
 * Connections for guarded requests: each is resolved, checked and verified before it is handed over.
 *
 * Promises that no connection is made to an address that may not be dialled, that the address of the
 * finished socket is one of the checked ones, and that TLS 1.2 or later was verified, all before a byte
 * of a request is written. Dials the IP address with the name as TLS server name: node:https never
 * resolves anything itself. Idle connections are kept a few seconds; every new one is checked anew.
 * Fails with a `ConnectError` whose text says nothing of what was found at the other end.
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
import { findAddresses } from './https-target.ts';
import { type Networks, parseAddressLiteral } from './networks.ts';
import { isAllowed } from './public-address.ts';
import type { Resolver } from './resolver.ts';

/** Below the 5 s after which common servers close idle connections, so that reuse rarely meets a closed one. */
const IDLE_MS = 4_000;
/** Longest wait for one address while others are left to try. */
const NEXT_ADDRESS_MS = 3_000;
const MAX_ADDRESSES = 4;

export interface GuardedAgentOptions {
  resolver: Pick<Resolver, 'a' | 'aaaa'>;
  /** Networks the operator admits beside the public internet. */
  allowNetworks: Networks;
  /** PEM certificates of private CAs, beside the public roots. */
  ca: readonly string[];
  /** How long an idle connection is kept, in milliseconds; default: 4 s. */
  idleMs?: number;
}

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** Our own rules forbade it. */
  readonly isRefused: boolean;

  constructor(message: string, isRefused: boolean) {
    super(message);
    this.isRefused = isRefused;
  }
}

/** What `createConnection` needs to know of the request that waits for the connection. */
export interface GuardedOptions extends RequestOptions {
  guard: { host: string; port: number; signal: AbortSignal };
}

type Handover = (error: Error | null, socket?: Duplex) => void;

export class GuardedAgent extends Agent {
  readonly #options: GuardedAgentOptions;
  readonly #secureContext: SecureContext;

  /** `destroy()` closes the idle connections. */
  constructor(options: GuardedAgentOptions) {
    super({ keepAlive: true, maxFreeSockets: 4, timeout: options.idleMs ?? IDLE_MS });
    this.#options = options;
    // A `ca` replaces the public roots (node:tls), so both are given.
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(options.ca.length > 0 && { ca: [...rootCertificates, ...options.ca] }),
    });
  }

  /** Called by node:https for every new connection; the answer comes by the callback. */
  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    void this.#hand((options as GuardedOptions).guard, callback as Handover);
    return undefined;
  }

  async #hand(guard: GuardedOptions['guard'], done: Handover): Promise<void> {
    const result = await this.#open(guard.host, guard.port, guard.signal).catch(
      (error: Error) => error,
    );
    if (result instanceof Error) done(result);
    else done(null, result);
  }

  async #open(host: string, port: number, signal: AbortSignal): Promise<TLSSocket> {
    const { resolver, allowNetworks } = this.#options;
    const found = await findAddresses(host, resolver, allowNetworks);
    if (found.kind !== 'found') throw new ConnectError(found.reason, found.kind === 'refused');
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
    throw failure ?? new ConnectError('the deadline passed', false);
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
      const abort = (): void => fail(new ConnectError('the deadline passed', false));
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
        if (!socket.authorized) return fail(new ConnectError('TLS verification failed', false));
        if (!isSame(remote, address) || !isAllowed(remote, this.#options.allowNetworks)) {
          return fail(new ConnectError('connected to another address than was checked', true));
        }
        settle();
        resolve(socket);
      });
    });
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [parseAddressLiteral(one), parseAddressLiteral(other)];
  return a !== null && b !== null && a.toNormalizedString() === b.toNormalizedString();
}
