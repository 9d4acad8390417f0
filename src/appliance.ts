/**
 * The whole appliance: built from a config, started, drained.
 *
 * Promises that `start` either listens everywhere or leaves nothing behind, that nothing is accepted before the store
 * is open, and that `stop` ends within 30 s: requests first, then open sessions and calls, the store last. Fails with
 * `OperatorError` when the data directory or an address is in use.
 */
import { createApi } from './api/app.ts';
import { clientAddress, trustedProxies } from './api/client-address.ts';
import { createHealth } from './api/health.ts';
import { createUnsubscribe } from './api/unsubscribe.ts';
import { closeContext, openContext } from './appliance-context.ts';
import type { ContextOptions } from './appliance-context.ts';
import { HttpListener } from './appliance-http.ts';
import { openMailDoors } from './appliance-mail.ts';
import { reload, renewCertificates } from './appliance-reload.ts';
import type { Config } from './base/config.ts';
import type { Reloaded } from './control/operation.ts';
import { runOperation } from './control/operations.ts';
import { ControlServer } from './control/server.ts';
import { createDashboard } from './dashboard/dashboard.ts';
import { Brake } from './flow/brake.ts';
import { Capture } from './flow/capture.ts';
import { CertificateKeeper } from './flow/certificates.ts';
import type { Context } from './flow/context.ts';
import { DiskWatch } from './flow/disk.ts';
import { DomainChecker } from './flow/domain-checker.ts';
import { haltOf } from './flow/halt.ts';
import { Queue } from './flow/queue.ts';
import { Retention } from './flow/retention.ts';
import { Vitals } from './flow/vitals.ts';
import { WebhookDispatcher } from './flow/webhooks.ts';

/** Where a started appliance can be reached. */
export interface Addresses {
  /** Base URL of the API, for this machine. */
  http: string;
  control: string;
  /** Where capture mode's receiver listens. */
  capture: string | null;
  /** Where reports come in. */
  inbound: string | null;
  submission: string[];
  submissions: string[];
}

export interface ApplianceOptions extends ContextOptions {
  /** Reads the config anew for a reload; default: it stays, and only certificates are read. */
  load?: () => Config;
}

export interface Appliance {
  ctx: Context;
  addresses: Addresses;
  queue: Queue;
  dispatcher: WebhookDispatcher;
  /** The receiver of capture mode. */
  capture: Capture | null;
  /** Takes over config and certificates anew. Throws `OperatorError`, with nothing changed. */
  reload(): Reloaded;
  stop(): Promise<void>;
}

/** Opens the data directory and starts everything. Throws `OperatorError`, with nothing left running. */
export async function startAppliance(
  config: Config,
  options: ApplianceOptions,
): Promise<Appliance> {
  const ctx = await openContext(config, options);
  // What has been started, in order; undone from the end.
  const started: (() => Promise<void>)[] = [() => closeContext(ctx)];
  try {
    return await startParts(ctx, started, options.load ?? (() => ({ ...config })));
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function startParts(
  ctx: Context,
  started: (() => Promise<void>)[],
  load: () => Config,
): Promise<Appliance> {
  const { config, log } = ctx;
  const capture = config.delivery.mode === 'capture' ? new Capture(ctx.clock) : null;
  const captureAt = capture === null ? null : await capture.start();
  if (capture !== null) started.push(() => capture.stop());

  const dispatcher = new WebhookDispatcher(ctx);
  const queue = new Queue(ctx, dispatcher, { captureAt });
  const checker = new DomainChecker(ctx);
  const brake = new Brake(ctx);
  const retention = new Retention(ctx);
  const vitals = new Vitals(ctx);
  const disk = new DiskWatch(ctx);
  await disk.start();
  started.push(async () => {
    disk.stop();
    vitals.stop();
  });
  const api = createApi(ctx, { queue, webhooks: dispatcher });
  await api.start();
  const health = createHealth(ctx, vitals);
  const unsubscribe = createUnsubscribe(ctx);
  const dashboard = createDashboard(ctx, { queue, webhooks: dispatcher, capture, vitals });
  const http = new HttpListener(
    config,
    api,
    (request, peer) =>
      health(request, peer) ??
      unsubscribe(request) ??
      dashboard(request, () => clientAddress(peer, request.headers, trustedProxies(config))),
  );
  await http.start();
  started.push(async () => {
    await Promise.all([queue, dispatcher, checker, brake, retention].map((part) => part.stop()));
  });
  // Undone first: no request may find a queue that has stopped.
  started.push(async () => {
    await http.stop();
    await api.stop();
  });
  queue.setResting(haltOf(ctx) !== null);
  await queue.start();
  const mailDoors = await openMailDoors(ctx, { queue, rates: api.rates });
  // Mail is refused before anything that takes it stops.
  started.push(() => mailDoors.stop());
  const listeners = { http, mailDoors };
  const keeper = new CertificateKeeper(ctx, () => renewCertificates(ctx, listeners));
  keeper.start();
  started.push(() => keeper.stop());
  dispatcher.start();
  checker.start();
  brake.start();
  retention.start();
  vitals.start();
  const takeOver = (): Reloaded => reload(ctx, listeners, load);
  const control = new ControlServer(
    config.dataDir,
    (name, args, sink) =>
      runOperation({ ctx, queue, dispatcher, sink, reload: takeOver }, name, args),
    log,
  );
  await control.start();
  started.push(() => control.stop());

  const addresses = {
    http: http.url(),
    control: `${config.dataDir}/control.sock`,
    capture: captureAt === null ? null : `${captureAt.host}:${captureAt.port}`,
    ...mailDoors.addresses,
  };
  log.info('ready', { ...addresses });
  return {
    ctx,
    addresses,
    queue,
    dispatcher,
    capture,
    reload: takeOver,
    async stop() {
      log.info('stopping');
      await stopAll(started);
      log.info('stopped');
    },
  };
}

async function stopAll(started: (() => Promise<void>)[]): Promise<void> {
  for (let undo = started.pop(); undo !== undefined; undo = started.pop()) await undo();
}
