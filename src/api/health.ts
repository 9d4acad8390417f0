/**
 * What machines that watch ask: `/metrics`, `/health`, `/ready`. Not part of the contract, never under `/v1`.
 *
 * Promises that `/health` and `/ready` answer anybody with one word, and that numbers and findings go
 * only to the networks the operator names. A request that came through a proxy counts as the client's
 * it speaks for; through a proxy that is not trusted, or names no client, it counts as a stranger's.
 */
import type { Context } from '../flow/context.ts';
import { isDiskLow } from '../flow/disk.ts';
import { haltOf } from '../flow/halt.ts';
import type { Vitals } from '../flow/vitals.ts';
import { parseNetworks } from '../wire/networks.ts';
import { clientAddress, trustedProxies } from './client-address.ts';

/** Answers requests for the watchers' paths; null for every other path. */
export type Health = (request: Request, peer: string | null) => Promise<Response> | null;

/** A first look, before an address is taken apart. */
const WATCHED = /\/(?:metrics|health|ready)(?:\?|$)/;
const FORWARDED = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'];

export function createHealth(ctx: Context, vitals: Vitals): Health {
  const readers = parseNetworks(ctx.config.http.metricsNetworks);
  const isReader = (request: Request, peer: string | null): boolean => {
    if (peer === null) return false;
    const proxies = trustedProxies(ctx.config);
    const isForwarded = FORWARDED.some((name) => request.headers.has(name));
    const isNamed = proxies.has(peer) && request.headers.has('x-forwarded-for');
    if (isForwarded && !isNamed) return false;
    const client = clientAddress(peer, request.headers, proxies);
    return client !== null && readers.has(client);
  };
  return (request, peer) => {
    if (!WATCHED.test(request.url)) return null;
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    switch (new URL(request.url).pathname) {
      case '/metrics':
        // For a stranger the path does not exist: null leads to the API's own 404.
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

/** Alive. The findings of the host check do not make it unhealthy: a restart would mend none of them. */
function health(vitals: Vitals, isDetailed: boolean): object {
  const last = vitals.findings;
  if (!isDetailed || last === null) return { status: 'ok' };
  const findings = last.findings.filter(({ level }) => level !== 'ok');
  return { status: 'ok', checked_at: new Date(last.checkedAt).toISOString(), findings };
}

/** Whether a send would be taken now. */
function ready(ctx: Context): Response {
  if (haltOf(ctx) !== null) return json(503, { status: 'halted' });
  if (isDiskLow(ctx)) return json(503, { status: 'disk_low' });
  return json(200, { status: 'ready' });
}

function json(status: number, body: object): Response {
  return Response.json(body, { status, headers: { 'Cache-Control': 'no-store' } });
}
