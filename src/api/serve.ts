/**
 * The API on a socket: Bun's HTTP server with every option set by hand.
 *
 * Promises that two appliances never share one port without a word (`reusePort` off) and that Bun's own
 * limit for bodies lies far above ours, because its refusal has no body. Fails when the address is taken
 * or a TLS file can not be read.
 */
import type { Listen } from '../base/config.ts';
import type { Api } from './app.ts';

/** Bun answers an empty 413 beyond this; our own refusal comes at 14 MB (bun-notes section 5). */
const BACKSTOP_BYTES = 64 * 1024 * 1024;
/** Seconds without a byte after which a connection is closed. */
const IDLE_SECONDS = 30;

export interface ServeOptions {
  listen: Listen;
  /** PEM texts; null: plain HTTP. */
  tls: { cert: string; key: string } | null;
  /** True while certificates change: the new server takes the port beside the old one. */
  isSharingPort?: boolean;
  /** Answers requests that are not the API's (the dashboard); null: this one is the API's. */
  before?: (request: Request, peer: string | null) => Response | Promise<Response> | null;
}

/** Listens. `stop()` of the result drains: no new connection, answers for what is under way. */
export function serveApi(api: Api, options: ServeOptions): Bun.Server<undefined> {
  return Bun.serve({
    hostname: options.listen.host,
    port: options.listen.port,
    reusePort: options.isSharingPort ?? false,
    development: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: BACKSTOP_BYTES,
    ...(options.tls !== null && { tls: options.tls }),
    fetch(request, server) {
      const peer = server.requestIP(request)?.address ?? null;
      return options.before?.(request, peer) ?? api.handle(request, peer);
    },
    error: () =>
      // Nothing of ours throws past `handle`; this keeps Bun's own page away if it ever happens.
      Response.json(
        {
          statusCode: 500,
          name: 'internal_server_error',
          message: 'Something went wrong.',
          code: 'internal_error',
        },
        { status: 500 },
      ),
  });
}
