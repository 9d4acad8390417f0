/**
 * The client's side of a TLS handshake for SMTP: STARTTLS (RFC 3207) and implicit TLS (RFC 8314).
 *
 * Promises TLS 1.2 or later (RFC 8996), SNI, and that with `verify` the certificate was trusted and named the server:
 * the runtime checks it, and this file once more, since runtimes have had bugs here. Never decides what happens after a
 * failure; the caller must not use the connection again.
 */
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { checkServerIdentity, connect, createSecureContext, rootCertificates } from 'node:tls';
import type { DetailedPeerCertificate, SecureContext, TLSSocket } from 'node:tls';

export interface TlsOptions {
  /** The name for SNI and the certificate; an address gets no SNI (RFC 6066 section 3). */
  serverName: string;
  /** Whether the certificate must be trusted and name `serverName`. */
  verify: boolean;
  /** Authorities trusted in addition to the built-in ones. */
  trust: ExtraTrust | undefined;
  /** DANE: leaf first; a string says why the chain is refused, null lets it pass. */
  checkPeer: ((chain: readonly X509Certificate[]) => string | null) | undefined;
}

/** Real chains have two to four certificates. */
const MAX_CHAIN = 10;

/** Authorities that the operator trusts in addition to the built-in ones. Keep it: reading all roots costs milliseconds. */
export class ExtraTrust {
  readonly #ca: readonly string[];
  #context: SecureContext | null = null;

  /** `ca`: certificates in PEM. */
  constructor(ca: readonly string[]) {
    this.#ca = ca;
  }

  /** Throws what the runtime throws for a text that is no certificate. */
  get context(): SecureContext {
    this.#context ??= createSecureContext({
      ca: [...rootCertificates, ...this.#ca],
      minVersion: 'TLSv1.2',
    });
    return this.#context;
  }
}

/**
 * Runs the handshake over `plain`. `done` gets null, or why the peer is not accepted; transport errors come
 * as 'error' on the socket that is returned.
 */
export function secure(
  plain: Socket,
  options: TlsOptions,
  done: (problem: string | null) => void,
): TLSSocket {
  const { serverName, verify, trust } = options;
  const socket = connect({
    socket: plain,
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    rejectUnauthorized: verify,
    minVersion: 'TLSv1.2',
    ...(trust === undefined ? {} : { secureContext: trust.context }),
  });
  socket.once('secureConnect', () => done(checkHandshake(socket, options)));
  return socket;
}

/** Whether the certificate is trusted and names the server. */
export function isVerified(socket: TLSSocket, serverName: string): boolean {
  return (
    checkHandshake(socket, { serverName, verify: true, trust: undefined, checkPeer: undefined }) ===
    null
  );
}

function checkHandshake(socket: TLSSocket, options: TlsOptions): string | null {
  try {
    const refusal = options.verify ? refusePeer(socket, options.serverName) : null;
    return refusal ?? options.checkPeer?.(peerChain(socket)) ?? null;
  } catch (error) {
    // Certificates are the server's bytes: reading one can throw, for an unknown kind of key for example.
    return `certificate cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function refusePeer(socket: TLSSocket, serverName: string): string | null {
  if (!socket.authorized) return `certificate not trusted: ${String(socket.authorizationError)}`;
  return checkServerIdentity(serverName, socket.getPeerCertificate())?.message ?? null;
}

/** What the server sent, leaf first. */
function peerChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (certificate?.raw !== undefined && chain.length < MAX_CHAIN) {
    chain.push(new X509Certificate(certificate.raw));
    // A root is its own issuer.
    if (certificate.issuerCertificate === certificate) break;
    certificate = certificate.issuerCertificate;
  }
  return chain;
}
