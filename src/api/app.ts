/**
 * The API as one Elysia app: every route with and without `/v1`, and an answer for everything else.
 *
 * Promises that `handle` answers any request with JSON, without a socket too. Bodies, queries and errors
 * are ours (`answer.ts`): Elysia routes and makes the reference document. Never trusts the Host header for the
 * path (bun-notes section 5, hazard B).
 */
import { Elysia } from 'elysia';
import { readExtraCa } from '../flow/extra-ca.ts';
import { GuardedAgent } from '../wire/guarded-agent.ts';
import { parseNetworks } from '../wire/networks.ts';
import type { Context } from '../flow/context.ts';
import { answer, type AnswererParts } from './answer.ts';
import type { Incoming } from './incoming.ts';
import { methodsOf, missingRoute, wrongMethod } from './fallback.ts';
import { RateWindows } from './rate-windows.ts';
import { referenceRoutes } from './reference.ts';
import { RequestLog } from './request-log.ts';
import type { Doors, Route } from './route.ts';
import { NOT_OFFERED_ROUTES, ROUTES } from './routes.ts';

export interface Api {
  /** The rate windows, shared with SMTP submission so that one account has one rate. */
  readonly rates: RateWindows;
  /** Answers a request. `peer`: address of the socket's other end, null without one. Never rejects. */
  handle(request: Request, peer?: string | null): Promise<Response>;
  /** Takes over the rate limits of the process before. Call before the first request. */
  start(): Promise<void>;
  /** Writes what is gathered in memory: request log, rate limits. Call after the last request. */
  stop(): Promise<void>;
}

/** Makes the API. Nothing runs until `handle` is called. */
export function createApi(ctx: Context, doors: Doors): Api {
  const rates = new RateWindows(ctx);
  const requestLog = new RequestLog(ctx);
  const agent = new GuardedAgent({
    resolver: ctx.resolver,
    allowNetworks: parseNetworks([]),
    ca: readExtraCa(ctx.config),
  });
  const parts: AnswererParts = {
    ctx,
    doors,
    requestLog,
    agent,
    rates,
  };
  const peers = new WeakMap<Request, Pick<Incoming, 'method' | 'path' | 'peer'>>();
  const handle = (route: Route) => (context: { request: Request; params?: object }) => {
    const { request } = context;
    const known = peers.get(request);
    return answer(parts, route, {
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
    async handle(request, peer = null) {
      const path = pathOf(request.url);
      const routed = routable(request, path);
      peers.set(routed, { method: request.method, path, peer });
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

type Handler = (context: { request: Request; params?: object }) => Promise<Response>;

function mount(
  routes: readonly Route[],
  handle: (route: Route) => Handler,
): { handle(request: Request): Promise<Response> } {
  const app = new Elysia();
  app.onError((context) => handle(missingRoute)({ request: context.request, params: {} }));
  const paths = new Map<string, string[]>();
  for (const route of routes) {
    for (const prefix of ['', '/v1']) {
      app.route(route.method, `${prefix}${route.path}`, handle(route), { parse: 'none' });
    }
    paths.set(route.path, [...(paths.get(route.path) ?? []), route.method]);
  }
  for (const [path, methods] of paths) {
    for (const prefix of ['', '/v1']) {
      app.route('OPTIONS', `${prefix}${path}`, handle(methodsOf(methods)), { parse: 'none' });
      app.all(`${prefix}${path}`, handle(wrongMethod(methods)), { parse: 'none' });
    }
  }
  app.all('*', handle(missingRoute), { parse: 'none' });
  return app;
}

/** The path as it stands on the wire, before any router has read it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}

/**
 * Elysia looks for the path behind this place of an address, and so misses it behind a Host of up to three characters.
 * Its `standardHostname: false` does not, but finds no route at all under https.
 */
const PATH_SOUGHT_FROM = 11;

/** The request as the router should see it: `//` folded, HEAD as GET, a Host long enough. The body goes along. */
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

/** The same answer without its body (RFC 9110 section 9.3.2). */
async function headOf(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  const headers = new Headers(response.headers);
  headers.set('Content-Length', String(body.byteLength));
  return new Response(null, { status: response.status, headers });
}

/** Path parameters with their percent signs undone; one that can not be read matches nothing. */
function decoded(params: object | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : '',
    ]),
  );
}
