/**
 * For monitoring: `/metrics`, `/health`, `/ready`. Not part of the API contract, never under `/v1`.
 *
 * Promises that `/health` and `/ready` return one word to anyone, and that metrics and findings go only to clients in
 * the networks the operator lists. A request that came through a proxy counts as one of the client the proxy names; if
 * the proxy is not trusted or names no client, it counts as one of an unknown client.
 */
import type { Context } from '../flow/context.ts';
import type { Vitals } from '../health/vitals.ts';
import { parseNetworks } from '../wire/addresses/networks.ts';
import type { TrustedProxies } from './client-address.ts';

/** The response to a request for one of these paths; null for every other path. */
export type Health = (request: Request, peer: string | null) => Promise<Response> | null;

/** A cheap check, before the URL is parsed. */
const MONITORED = /\/(?:metrics|health|ready)(?:\?|$)/;
const FORWARDED = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'];

/** What is asked for an answer. */
type Scope = Pick<Context, 'config' | 'halt' | 'disk'> & {
  readonly node: Pick<NonNullable<Context['node']>, 'notReady'> | null;
};

/** Creates the handler of these paths. `vitals`: the source of metrics and findings. */
export function createHealth(ctx: Scope, vitals: Vitals, proxies: TrustedProxies): Health {
  const readers = parseNetworks(ctx.config.startup.http.metricsNetworks);
  const isReader = (request: Request, peer: string | null): boolean => {
    if (peer === null) return false;
    const isForwarded = FORWARDED.some((name) => request.headers.has(name));
    const isNamed = proxies.networks().has(peer) && request.headers.has('x-forwarded-for');
    if (isForwarded && !isNamed) return false;
    const client = proxies.clientOf({ peer, request });
    return client !== null && readers.has(client);
  };
  return (request, peer) => {
    if (!MONITORED.test(request.url)) return null;
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    switch (new URL(request.url).pathname) {
      case '/metrics':
        // For anyone else the path does not exist: null leads to the 404 of the API.
        return isReader(request, peer) ? metrics(vitals) : null;
      case '/health':
        return Promise.resolve(json(200, health(vitals, isReader(request, peer))));
      case '/ready':
        return Promise.resolve(ready(ctx));
      default:
        return null;
    }
  };
}

async function metrics(vitals: Vitals): Promise<Response> {
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  return new Response(await vitals.render(), { headers: { 'Content-Type': type } });
}

/** Alive. Findings of the host check do not make it unhealthy: a restart would fix none of them. */
function health(vitals: Vitals, isDetailed: boolean): object {
  const last = vitals.findings;
  if (!isDetailed || last === null) return { status: 'ok' };
  const findings = last.findings.filter(({ level }) => level !== 'ok');
  return { status: 'ok', checked_at: new Date(last.checkedAt).toISOString(), findings };
}

/** Whether a send would be accepted now. */
function ready(ctx: Scope): Response {
  const { node } = ctx;
  if (node !== null && node.notReady !== null) return json(503, { status: node.notReady });
  if (ctx.halt.state !== null) return json(503, { status: 'halted' });
  if (ctx.disk.isLow) return json(503, { status: 'disk_low' });
  return json(200, { status: 'ready' });
}

function json(status: number, body: object): Response {
  return Response.json(body, { status, headers: { 'Cache-Control': 'no-store' } });
}
