/**
 * The address a request came from, for the log, the dashboard's sign-in and `/metrics`.
 *
 * Promises that `X-Forwarded-For` is trusted only as far as trusted proxies wrote it: read from the right, the first
 * address that is not a trusted proxy. Never fails; null when there is no socket.
 */
import type { Context } from '../flow/context.ts';
import { parseAddressLiteral, parseNetworks, type Networks } from '../wire/addresses/networks.ts';

/** How a socket that listens on `::` reports an IPv4 client (RFC 4291 section 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The trusted proxies of the config, parsed once for each list: a reload brings a new list. */
export class TrustedProxies {
  readonly #ctx: Pick<Context, 'config'>;
  #list: readonly string[] = [];
  #networks: Networks = parseNetworks([]);

  constructor(ctx: Pick<Context, 'config'>) {
    this.#ctx = ctx;
  }

  networks(): Networks {
    const list = this.#ctx.config.live.http.trustedProxies;
    if (list !== this.#list) {
      this.#networks = parseNetworks(list);
      this.#list = list;
    }
    return this.#networks;
  }

  /** The client's address. `peer`: its address on the socket, null without a socket. */
  clientOf({ peer, request }: { peer: string | null; request: Request }): string | null {
    return clientAddress(peer, request.headers, this.networks());
  }
}

/** The client's address. `peer`: the client's address on the socket, null for a request without one. */
export function clientAddress(
  peer: string | null,
  headers: Headers,
  trusted: Networks,
): string | null {
  if (peer === null) return null;
  // Most services are asked directly: no header counts then, and there is nothing to parse.
  if (trusted.isEmpty && !peer.includes(':')) return peer;
  const forwardedFor = headers.get('x-forwarded-for');
  const hops = forwardedFor === null ? [] : forwardedFor.split(',');
  let address = peer;
  while (hops.length > 0 && trusted.has(address)) {
    const hop = hops.pop()?.trim() ?? '';
    if (parseAddressLiteral(hop) === null) break;
    address = hop;
  }
  return address.replace(MAPPED, '');
}
