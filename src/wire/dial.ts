/**
 * Opens a TCP connection and closes it again: does anything answer there?
 *
 * Never sends a byte and never throws; used by the host check, not for mail.
 */
import { connect } from 'node:net';

export type DialResult =
  | { kind: 'open'; tookMs: number }
  /** The other side, or a firewall that replies, refused. */
  | { kind: 'refused'; reason: string }
  /** Silence, as when a provider blocks the port. */
  | { kind: 'timeout' }
  /** This machine cannot reach the address (no route, no such address family). */
  | { kind: 'no_route'; reason: string };

const NO_ROUTE = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** Opens TCP to an IP address and port, waiting `timeoutMs` at most. */
export function dial(address: string, port: number, timeoutMs: number): Promise<DialResult> {
  return new Promise((resolve) => {
    const beganAt = performance.now();
    const socket = connect({ host: address, port });
    const end = (result: DialResult): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => end({ kind: 'timeout' }), timeoutMs);
    socket.once('connect', () => end({ kind: 'open', tookMs: performance.now() - beganAt }));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code ?? error.message;
      if (reason === 'ETIMEDOUT') end({ kind: 'timeout' });
      else end({ kind: NO_ROUTE.has(reason) ? 'no_route' : 'refused', reason });
    });
  });
}
