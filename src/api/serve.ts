/**
 * The API on a socket: Bun's HTTP server with every option set by hand.
 *
 * Promises that two appliances never share one port without a word (`reusePort` off), that Bun has no
 * limit for bodies of its own, because its refusal has no body, and that every answer that is made here
 * has `X-Request-Id`. Fails when the address is taken or a TLS file can not be read.
 */
import { systemClock } from '../base/clock.ts';
import type { Listen } from '../base/config.ts';
import { ApiError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Api } from './app.ts';
import { errorBody } from './errors.ts';

/** Bun answers an empty 413 beyond it. What reads a body has its own limit: `body.ts`, the dashboard's forms. */
const NO_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;
/** Stands in for a Host that is missing (RFC 9112 allows it in HTTP/1.0) or is none. */
const NO_HOST = 'http://host.invalid';
/** Seconds without a byte after which a connection is closed. */
export const IDLE_SECONDS = 30;

export interface ServeOptions {
  listen: Listen;
  /** PEM texts; null: plain HTTP. */
  tls: { cert: string; key: string } | null;
  /** True while certificates change: the new server takes the port beside the old one. */
  isSharingPort?: boolean;
  /** True when another server has taken over: each answer is its connection's last. */
  isLeaving?: () => boolean;
  /** Answers requests that are not the API's (the dashboard); null: this one is the API's. */
  before?: (request: Request, peer: string | null) => Response | Promise<Response> | null;
}

/** Listens. `stop()` of the result drains: no new connection, answers for what is under way. */
export function serveApi(api: Pick<Api, 'handle'>, options: ServeOptions): Bun.Server<undefined> {
  return Bun.serve({
    hostname: options.listen.host,
    port: options.listen.port,
    reusePort: options.isSharingPort ?? false,
    development: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: NO_LIMIT_BYTES,
    ...(options.tls !== null && { tls: options.tls }),
    async fetch(request, server) {
      const peer = server.requestIP(request)?.address ?? null;
      const addressed = withAddress(request);
      const other = options.before?.(addressed, peer) ?? null;
      const answer = other === null ? await api.handle(addressed, peer) : named(await other);
      if (options.isLeaving?.() === true) answer.headers.set('Connection', 'close');
      return answer;
    },
    error() {
      // Nothing of ours throws past `handle`; this keeps Bun's own page away if it ever happens.
      const id = newId(systemClock.now());
      const fault = new ApiError('internal_error', 'Something went wrong here.');
      return Response.json(errorBody(fault, id), {
        status: fault.status,
        headers: { 'X-Request-Id': id },
      });
    },
  });
}

/** With its closing slash; the last one that could be parsed. */
let goodOrigin = 'http://localhost/';

/** The request with an address that can be parsed: without a good Host, Bun's own is a bare path. */
function withAddress(request: Request): Request {
  // Behind a good origin any path will do, and most requests have the same.
  const { url } = request;
  const origin = url.slice(0, url.indexOf('/', url.indexOf('//') + 2) + 1);
  if (origin === goodOrigin) return request;
  if (URL.canParse(url)) {
    if (URL.canParse(origin)) goodOrigin = origin;
    return request;
  }
  const path = request.url.replace(/^https?:\/\/[^/?]*/, '');
  return new Request(`${NO_HOST}${path.startsWith('/') ? path : `/${path}`}`, request);
}

/** The API names its answers itself; those of the pages and the watchers' paths get their id here unless they have one. */
function named(response: Response): Response {
  if (!response.headers.has('X-Request-Id')) {
    response.headers.set('X-Request-Id', newId(systemClock.now()));
  }
  return response;
}
