/**
 * Everything that is answered over HTTP: health, unsubscribe links and the dashboard first, the API for the rest.
 *
 * Promises that rate limits are loaded before the first request, and that `stop` answers the requests under way before
 * it saves them. Fails with `OperatorError` when the address is in use or a certificate cannot be used.
 */
import { createApi } from '../api/app.ts';
import { TrustedProxies } from '../api/client-address.ts';
import { createHealth } from '../api/health.ts';
import { createUnsubscribe } from '../api/unsubscribe.ts';
import type { Dashboard } from '../dashboard/dashboard.ts';
import { frontResponse, isForDashboard } from '../dashboard/front.ts';
import type { Context } from '../flow/context.ts';
import type { Queue } from '../flow/queue/queue.ts';
import type { Capture } from '../flow/upkeep/capture.ts';
import { SpamChecks } from '../flow/upkeep/spam-checks.ts';
import type { WebhookDispatcher } from '../flow/webhooks/dispatcher.ts';
import type { Vitals } from '../health/vitals.ts';
import type { Rates } from '../smtp/submission.ts';
import { HttpListener } from './http-listener.ts';

/** What the pages and routes show and act on. */
export interface Behind {
  queue: Queue;
  webhooks: WebhookDispatcher;
  /** The receiver of capture mode. */
  capture: Capture | null;
  vitals: Vitals;
}

export interface Http {
  listener: HttpListener;
  /** The accounts' rates, which submission shares. */
  rates: Rates;
  stop(): Promise<void>;
}

export async function openHttp(ctx: Context, behind: Behind): Promise<Http> {
  const proxies = new TrustedProxies(ctx);
  const api = createApi(ctx, behind, proxies);
  await api.start();
  const health = createHealth(ctx, behind.vitals, proxies);
  const unsubscribe = createUnsubscribe(ctx);
  const dashboard = dashboardOnDemand(ctx, behind);
  const listener = new HttpListener(
    ctx.config,
    api,
    (request, peer) =>
      (ctx.emulation === null ? null : foreignName(request)) ??
      health(request, peer) ??
      unsubscribe(request) ??
      frontResponse(request) ??
      (isForDashboard(request) ? dashboard(request, proxies.clientOf({ peer, request })) : null),
  );
  await listener.start();
  return {
    listener,
    rates: api.rates,
    async stop() {
      await listener.stop();
      await api.stop();
    },
  };
}

/**
 * The dashboard, whose code is loaded with the first request for it: a tenth of what there is in memory, which every
 * collection would look through on a server that nobody looks at.
 */
function dashboardOnDemand(ctx: Context, behind: Behind): Dashboard {
  // It reads a file of the operator's: where that cannot be read the start fails, not the first page.
  const parts = { ...behind, spamChecks: new SpamChecks(ctx) };
  let made: Promise<Dashboard> | null = null;
  return async (request, client) => {
    made ??= import('../dashboard/dashboard.ts').then(({ createDashboard }) =>
      createDashboard(ctx, parts),
    );
    return (await made)(request, client);
  };
}

/** This machine's own names; with and without a port. */
const OWN_NAME = /^(?:(?:[\w-]+\.)*localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d+)?$/i;

/**
 * Refuses what a web page sends to a name of its own that leads to loopback (DNS rebinding): an emulator asks for no
 * password, and the browser would let that page read the answer.
 */
function foreignName(request: Request): Response | null {
  if (OWN_NAME.test(request.headers.get('host') ?? '')) return null;
  return new Response('This emulator answers to localhost and 127.0.0.1 only.\n', { status: 403 });
}
