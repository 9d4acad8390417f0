/**
 * The addresses of a site, each with the options of its sessions: made once for a site, so that a message costs none.
 *
 * Promises that the options without TLS exist only where plaintext is allowed: opportunistic TLS, and no password to be
 * sent. Opens no connection and cannot fail.
 */
import type { Deadlines } from '../../wire/smtp/deadlines.ts';
import type { SessionOptions } from '../../wire/smtp/client.ts';
import type { ExtraTrust } from '../../wire/smtp/tls.ts';
import type { TlsPolicy } from './tls-policy.ts';

/** Where to dial, and from where; `from` null: the system's choice. */
export interface Target {
  address: string;
  from: string | null;
}

export interface SiteHost {
  name: string;
  /** Of the MX record; lower is tried first. */
  preference: number;
  targets: Target[];
  tls: TlsPolicy;
}

/** Options of a session, with the texts by which open sessions and failures are found again. */
export interface Dial {
  options: SessionOptions;
  /** Sessions with the same key and the same `checkPeer` are interchangeable. */
  key: string;
  /** Address and port. */
  peer: string;
}

/** One address of a host, and how to dial it. */
export interface HostAddress {
  host: SiteHost;
  target: Target;
  dial: Dial;
  /** The same without TLS, for a host whose opportunistic TLS is broken; null where that is not allowed. */
  plain: Dial | null;
}

/** What all sessions of a process have in common. */
export interface DialSettings {
  heloName: string;
  deadlines: Deadlines;
  /** PEM certificates trusted beside the system's. */
  trust: ExtraTrust | undefined;
  /** Aborting it destroys every session. */
  signal: AbortSignal;
}

/** How to dial each address of `hosts`, in their order. */
export function addressesOf(
  hosts: readonly SiteHost[],
  { port, auth }: Pick<SessionOptions, 'port' | 'auth'>,
  settings: DialSettings,
): HostAddress[] {
  return hosts.flatMap((host) =>
    host.targets.map((target): HostAddress => {
      const options = sessionOptions(host, target, port, auth, settings);
      // A password is never sent in the clear because TLS failed.
      const mayBePlain = host.tls.mode === 'opportunistic' && auth === null;
      const plain = { ...options, tls: { ...options.tls, mode: 'none' as const } };
      return { host, target, dial: dialOf(options), plain: mayBePlain ? dialOf(plain) : null };
    }),
  );
}

/** `options` with the texts that identify them. */
export function dialOf(options: SessionOptions): Dial {
  const { address, port, localAddress, serverName, tls, auth } = options;
  const peer = `${address} ${port}`;
  const checksName = tls.verify || tls.checkPeer !== undefined;
  const policy = [tls.mode, tls.verify, checksName ? serverName : ''];
  const login = auth === null ? [] : [auth.username, auth.password];
  return { options, peer, key: `${peer} ${JSON.stringify([localAddress, ...policy, ...login])}` };
}

function sessionOptions(
  host: SiteHost,
  target: Target,
  port: number,
  auth: SessionOptions['auth'],
  { heloName, deadlines, trust, signal }: DialSettings,
): SessionOptions {
  const { mode, verify, checkPeer } = host.tls;
  return {
    address: target.address,
    port,
    localAddress: target.from,
    heloName,
    serverName: host.name,
    tls: {
      mode,
      verify,
      ...(trust === undefined ? {} : { trust }),
      ...(checkPeer === null ? {} : { checkPeer }),
    },
    auth,
    deadlines,
    signal,
  };
}
