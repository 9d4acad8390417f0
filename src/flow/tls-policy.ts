/**
 * Which TLS a mail host must be met with, and what is remembered of hosts whose TLS is broken.
 *
 * Promises that only opportunistic TLS ever gives way to plaintext, always on a new connection, and that
 * a host whose handshake failed is met in the clear for an hour instead of failing each time anew.
 */
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Smarthost } from '../base/config.ts';
import type { TlsPolicy as DomainPolicy } from '../wire/tls-policy.ts';

export interface TlsPolicy {
  /** As it stands in events. */
  name: 'none' | 'required' | DomainPolicy['source'];
  mode: 'none' | 'opportunistic' | 'required' | 'implicit';
  /** The certificate must be trusted and name the host. */
  verify: boolean;
  /** DANE: leaf first; a string says why the chain is refused. */
  checkPeer: ((chain: readonly X509Certificate[]) => string | null) | null;
}

/** RFC 7435: encryption where it can be had, whatever the certificate. */
export const OPPORTUNISTIC: TlsPolicy = {
  name: 'opportunistic',
  mode: 'opportunistic',
  verify: false,
  checkPeer: null,
};

export const NO_TLS: TlsPolicy = { name: 'none', mode: 'none', verify: false, checkPeer: null };

/**
 * Ports of TLS from the first byte: RFC 8314 section 3.3, and its stand-in where providers block 465 (Amazon SES,
 * Resend and others call it the TLS wrapper port).
 */
const IMPLICIT_TLS_PORTS: ReadonlySet<number> = new Set([465, 2465]);

/** What a route or smarthost asks for. */
export function policyOf({ tls, port }: Smarthost): TlsPolicy {
  if (tls === 'none') return NO_TLS;
  const verify = tls === 'required';
  if (IMPLICIT_TLS_PORTS.has(port)) return { name: tls, mode: 'implicit', verify, checkPeer: null };
  return verify ? { ...OPPORTUNISTIC, name: 'required', mode: 'required', verify } : OPPORTUNISTIC;
}

/** What the recipient's domain asks for (MTA-STS, DANE), in the house's form. */
export function policyOfDomain({ source, mode, verify, checkPeer }: DomainPolicy): TlsPolicy {
  return { name: source, mode, verify, checkPeer: checkPeer ?? null };
}

const BROKEN_MS = 60 * 60_000;
const KEPT_HOSTS = 10_000;

/** Hosts whose opportunistic handshake failed. */
export class BrokenTls {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(host: string): void {
    if (this.#until.size >= KEPT_HOSTS) this.#until.clear();
    this.#until.set(host, this.#clock.now() + BROKEN_MS);
  }

  has(host: string): boolean {
    const until = this.#until.get(host);
    if (until === undefined) return false;
    if (until > this.#clock.now()) return true;
    this.#until.delete(host);
    return false;
  }
}
