/**
 * The client's side of a TLS handshake for SMTP: STARTTLS (RFC 3207) and implicit TLS (RFC 8314).
 *
 * Promises TLS 1.2 or later (RFC 8996), SNI, and that with `verify` the certificate was trusted and named
 * the server: checked by the runtime and once more by hand, since runtimes have had holes here. Never
 * decides what happens after a failure; the caller must not use the connection again.
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
  /** PEM certificates trusted beside the built-in ones. */
  ca: readonly string[] | undefined;
  /** DANE: leaf first; a string says why the chain is refused, null lets it pass. */
  checkPeer: ((chain: readonly X509Certificate[]) => string | null) | undefined;
}

/** Longer chains than real ones, which have two to four certificates. */
const MAX_CHAIN = 10;

/** Contexts by the list of extra certificates: parsing all roots costs milliseconds. */
const contexts = new WeakMap<readonly string[], SecureContext>();

/**
 * Runs the handshake over `plain`. `done` gets null, or why the peer is not accepted; transport errors come
 * as 'error' on the socket that is returned.
 */
export function secure(
  plain: Socket,
  options: TlsOptions,
  done: (problem: string | null) => void,
): TLSSocket {
  const { serverName, verify, ca } = options;
  const socket = connect({
    socket: plain,
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    rejectUnauthorized: verify,
    minVersion: 'TLSv1.2',
    ...(ca === undefined || ca.length === 0 ? {} : { secureContext: contextFor(ca) }),
  });
  socket.once('secureConnect', () => done(checkHandshake(socket, options)));
  return socket;
}

/** Whether the certificate is trusted and names the server. */
export function isVerified(socket: TLSSocket, serverName: string): boolean {
  return (
    checkHandshake(socket, { serverName, verify: true, ca: undefined, checkPeer: undefined }) ===
    null
  );
}

function checkHandshake(socket: TLSSocket, options: TlsOptions): string | null {
  try {
    const refusal = options.verify ? refusePeer(socket, options.serverName) : null;
    return refusal ?? options.checkPeer?.(peerChain(socket)) ?? null;
  } catch (error) {
    // Certificates are the server's bytes: keys of unknown kinds, say, are thrown at on reading.
    return `certificate can not be read: ${error instanceof Error ? error.message : String(error)}`;
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

function contextFor(ca: readonly string[]): SecureContext {
  let context = contexts.get(ca);
  if (context === undefined) {
    context = createSecureContext({ ca: [...rootCertificates, ...ca], minVersion: 'TLSv1.2' });
    contexts.set(ca, context);
  }
  return context;
}
