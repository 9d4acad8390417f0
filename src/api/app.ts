/**
 * The API as one Elysia app: every route with and without `/v1`, and a JSON error for everything else.
 *
 * How a request is handled, and in which file: `serve.ts` (socket) → `app.ts` (which route) → `respond.ts`, which calls
 * `guard.ts` (key and permission), `rate-windows.ts` (rate), `body.ts` (bytes) and `shapes/` (JSON to checked values) →
 * one file of `routes/` (the work, most of it in flow/) → response, and one row of `log/`. `reference/` makes the
 * OpenAPI document from the same routes. A 2xx for a send is returned after the commit of flow/accept; a crash at any
 * other point loses no more than rows of the request log.
 *
 * Promises that `handle` returns JSON for any request, also without a socket. Bodies, queries and errors are ours:
 * Elysia only routes and makes the reference document. Never takes the path from the Host header
 * (docs/runtime-hazards.md H29).
 */
import { Elysia } from 'elysia';
import { readExtraCa } from '../flow/extra-ca.ts';
import { GuardedAgent } from '../wire/https/guarded-agent.ts';
import { parseNetworks } from '../wire/addresses/networks.ts';
import type { Context } from '../flow/context.ts';
import type { TrustedProxies } from './client-address.ts';
import { respond, type Incoming, type ResponderParts } from './respond.ts';
import { methodsOf, missingRoute, wrongMethod } from './fallback.ts';
import { RequestsUnderWay } from './requests-under-way.ts';
import { RateWindows } from './rate-windows.ts';
import { referenceRoutes } from './reference/reference.ts';
import { RequestLog } from './log/request-log.ts';
import type { Engines, Route } from './routes/route.ts';
import { NOT_OFFERED_ROUTES, ROUTES } from './routes/routes.ts';

export interface Api {
  /** The rate windows, shared with SMTP submission so that one account has one rate. */
  readonly rates: RateWindows;
  /** The response to a request. `peer`: the client's address on the socket, null without one. Never rejects. */
  handle(request: Request, peer?: string | null): Promise<Response>;
  /** A new id, for a response that no route made. */
  requestId(): string;
  /** Loads the rate limits that the last process saved. Call before the first request. */
  start(): Promise<void>;
  /** Writes what is in memory: request log, rate limits. Call after the last request. */
  stop(): Promise<void>;
}

/** Creates the API. Nothing runs until `handle` is called. `engines`: what takes the work over. */
export function createApi(ctx: Context, engines: Engines, proxies: TrustedProxies): Api {
  const rates = new RateWindows(ctx);
  const requestLog = new RequestLog(ctx);
  const agent = new GuardedAgent({
    resolver: ctx.resolver,
    allowNetworks: parseNetworks([]),
    ca: readExtraCa(ctx.config.startup.tls.extraCaFile),
  });
  const parts: ResponderParts = {
    ctx,
    engines,
    requestLog,
    agent,
    rates,
    proxies,
    underWay: new RequestsUnderWay(),
  };
  // Elysia passes nothing to a route but the request, which it owns: the request is the key to what arrived with it.
  const arrivals = new WeakMap<Request, Pick<Incoming, 'method' | 'path' | 'peer'>>();
  const handle = (route: Route) => (context: Routed) => {
    const { request } = context;
    const known = arrivals.get(request);
    return respond(parts, route, {
      request,
      method: known?.method ?? request.method,
      path: known?.path ?? '',
      peer: known?.peer ?? null,
      params: decoded(context.params),
    });
  };
  const app = mount([...ROUTES, ...NOT_OFFERED_ROUTES, ...referenceRoutes(ROUTES)], handle);
  return {
    rates,
    requestId: () => ctx.ids.next(ctx.clock.now()),
    async handle(request, peer = null) {
      const path = pathOf(request.url);
      const routed = routable(request, path);
      arrivals.set(routed, { method: request.method, path, peer });
      const response = await app.handle(routed);
      return request.method === 'HEAD' ? headOf(response) : response;
    },
    start: () => rates.load(),
    async stop() {
      agent.destroy();
      await requestLog.flush();
      await rates.save();
    },
  };
}

/** What Elysia knows of a request. */
interface Routed {
  request: Request;
  params?: object | undefined;
}

type Handler = (routed: Routed) => Promise<Response>;

function mount(
  routes: readonly Route[],
  handle: (route: Route) => Handler,
): { handle(request: Request): Promise<Response> } {
  const app = new Elysia();
  app.onError((context) => handle(missingRoute)({ request: context.request, params: {} }));
  // One entry of Elysia's for each path, not for each method of it: an entry takes fifteen objects and lives for ever.
  for (const [path, ofPath] of Map.groupBy(routes, ({ path }) => path)) {
    const handler = byMethod(ofPath, handle);
    for (const prefix of ['', '/v1']) app.all(`${prefix}${path}`, handler, { parse: 'none' });
  }
  app.all('*', handle(missingRoute), { parse: 'none' });
  return app;
}

/** The routes of one path, the answer to OPTIONS, and the refusal of all other methods. */
function byMethod(routes: readonly Route[], handle: (route: Route) => Handler): Handler {
  const handlers = new Map<string, Handler>(routes.map((route) => [route.method, handle(route)]));
  const methods = Array.from(handlers.keys());
  handlers.set('OPTIONS', handle(methodsOf(methods)));
  const other = handle(wrongMethod(methods));
  // Elysia reads this text: of a context that is handed on whole it would make body, query and cookies ready, too.
  return ({ request, params }) => (handlers.get(request.method) ?? other)({ request, params });
}

/** The path as the client sent it, before any router has changed it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}

/**
 * Elysia looks for the path from this index of the URL on, and so misses it after a Host of up to three characters. Its
 * option `standardHostname: false` avoids that, but then finds no route at all under https (docs/runtime-hazards.md
 * H31).
 */
const PATH_SOUGHT_FROM = 11;

/** The request for the router: `//` becomes `/`, HEAD becomes GET, a short Host a longer one. The body stays. */
function routable(request: Request, path: string): Request {
  const isFolded = path.includes('//');
  const isShort = request.url.indexOf('/', request.url.indexOf('//') + 2) < PATH_SOUGHT_FROM;
  if (!isFolded && !isShort && request.method !== 'HEAD') return request;
  const folded = new URL(request.url);
  if (isShort) folded.hostname = 'host.invalid';
  folded.pathname = path.replaceAll(/\/{2,}/g, '/');
  const url = folded.href;
  if (request.method !== 'HEAD') return new Request(url, request);
  return new Request(url, { method: 'GET', headers: request.headers });
}

/** The same response without its body (RFC 9110 section 9.3.2). */
async function headOf(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  const headers = new Headers(response.headers);
  headers.set('Content-Length', String(body.byteLength));
  return new Response(null, { status: response.status, headers });
}

/** The path parameters; Elysia has decoded them. One that is no text becomes empty and matches nothing. */
function decoded(params: object | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : '',
    ]),
  );
}
