/**
 * The API on a socket: Bun's HTTP server with every option set explicitly.
 *
 * Promises that two appliances never share one port unnoticed (`reusePort` is off), that Bun applies no body limit of
 * its own, because its refusal has no body, and that every response made here has `X-Request-Id`. Fails when the
 * address is in use or the TLS texts cannot be used.
 */
import type { Listen } from '../base/config.ts';
import { ApiError } from '../base/errors.ts';
import type { Api } from './app.ts';
import { errorBody } from './shapes/error-body.ts';
import { endsConnection, UnreadBodies } from './unread-body.ts';

/**
 * Beyond its limit Bun sends an empty 413 (docs/runtime-hazards.md H7). Readers of bodies have their own limits:
 * `body.ts`, the dashboard.
 */
const NO_LIMIT_BYTES = Number.MAX_SAFE_INTEGER;
/** Replaces a Host that is missing (RFC 9112 allows it in HTTP/1.0) or invalid. */
const NO_HOST = 'http://host.invalid';
/** Seconds without a byte after which a connection is closed. */
export const IDLE_SECONDS = 30;

export interface ServeOptions {
  listen: Listen;
  /** PEM texts; null: plain HTTP. */
  tls: { cert: string; key: string } | null;
  /** True to listen beside another server on the port, while certificates change. */
  isSharingPort?: boolean;
  /** True when another server has taken over: each response is the last of its connection. */
  isLeaving?: () => boolean;
  /** Bodies that it throws away, for a stop to end; default: of its own. */
  unread?: UnreadBodies;
  /** Handles requests that are not for the API (the dashboard); null: this one is for the API. */
  before?: (request: Request, peer: string | null) => Response | Promise<Response> | null;
}

/** Listens. `stop()` of the result drains: no new connections, responses for open requests. */
export function serveApi(
  api: Pick<Api, 'handle' | 'requestId'>,
  options: ServeOptions,
): Bun.Server<undefined> {
  const addresses = new Addresses();
  const unread = options.unread ?? new UnreadBodies();
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
      const addressed = addresses.complete(request);
      const other = options.before?.(addressed, peer) ?? null;
      const response =
        other === null ? await api.handle(addressed, peer) : withId(await other, api);
      const isLeaving = options.isLeaving?.() === true;
      if (isLeaving) response.headers.set('Connection', 'close');
      return isLeaving || endsConnection(request) ? unread.after(addressed, response) : response;
    },
    error() {
      // `handle` never rejects; if that ever fails, this replaces the error page of Bun.
      const id = api.requestId();
      const fault = new ApiError('internal_error', 'The service failed to handle this request.');
      return Response.json(errorBody(fault, id), {
        status: fault.status,
        headers: { 'X-Request-Id': id },
      });
    },
  });
}

/** Gives each request a URL that can be parsed: without a valid Host, Bun's URL is a bare path. */
class Addresses {
  /** The last origin that could be parsed, with its closing slash. */
  #goodOrigin = 'http://localhost/';

  complete(request: Request): Request {
    // After a valid origin any path can be parsed, and most requests have the same origin.
    const { url } = request;
    const origin = url.slice(0, url.indexOf('/', url.indexOf('//') + 2) + 1);
    if (origin === this.#goodOrigin) return request;
    if (URL.canParse(url)) {
      if (URL.canParse(origin)) this.#goodOrigin = origin;
      return request;
    }
    const path = request.url.replace(/^https?:\/\/[^/?]*/, '');
    return new Request(`${NO_HOST}${path.startsWith('/') ? path : `/${path}`}`, request);
  }
}

/** The API sets the id of its own responses; those of pages and of `/health` and similar get theirs here. */
function withId(response: Response, api: Pick<Api, 'requestId'>): Response {
  if (!response.headers.has('X-Request-Id')) {
    response.headers.set('X-Request-Id', api.requestId());
  }
  return response;
}
