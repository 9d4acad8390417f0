/**
 * Which TLS a session with a mail host must use, and which hosts are known to have broken TLS.
 *
 * Promises that only opportunistic TLS ever falls back to plaintext, always on a new connection, and that mail for a
 * host whose handshake failed goes in plaintext for an hour instead of failing each time. Cannot fail.
 */
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Smarthost } from '../../base/config.ts';
import type { TlsPolicy as DomainPolicy } from '../../wire/tls/tls-policy.ts';

export interface TlsPolicy {
  /** Its name in events. */
  name: 'none' | 'required' | DomainPolicy['source'];
  mode: 'none' | 'opportunistic' | 'required' | 'implicit';
  /** The certificate must be trusted and name the host. */
  verify: boolean;
  /** DANE: leaf first; a string says why the chain is refused. */
  checkPeer: ((chain: readonly X509Certificate[]) => string | null) | null;
}

/** RFC 7435: encryption where the host offers it, whatever its certificate. */
export const OPPORTUNISTIC: TlsPolicy = {
  name: 'opportunistic',
  mode: 'opportunistic',
  verify: false,
  checkPeer: null,
};

export const NO_TLS: TlsPolicy = { name: 'none', mode: 'none', verify: false, checkPeer: null };

/**
 * Ports of TLS from the first byte: RFC 8314 section 3.3, and its replacement where providers block 465 (Amazon SES,
 * Resend and others call it the TLS wrapper port).
 */
const IMPLICIT_TLS_PORTS: ReadonlySet<number> = new Set([465, 2465]);

/** The TLS of a route or smarthost. */
export function policyOf({ tls, port }: Smarthost): TlsPolicy {
  if (tls === 'none') return NO_TLS;
  const verify = tls === 'required';
  if (IMPLICIT_TLS_PORTS.has(port)) return { name: tls, mode: 'implicit', verify, checkPeer: null };
  return verify ? { ...OPPORTUNISTIC, name: 'required', mode: 'required', verify } : OPPORTUNISTIC;
}

/** The TLS that the recipient's domain asks for (MTA-STS, DANE), in the form used here. */
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
    this.#until.set(host, this.#clock.steady() + BROKEN_MS);
  }

  has(host: string): boolean {
    const until = this.#until.get(host);
    if (until === undefined) return false;
    if (until > this.#clock.steady()) return true;
    this.#until.delete(host);
    return false;
  }
}
