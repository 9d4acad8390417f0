/**
 * The whole appliance: built from a config, started, drained. The story of this room:
 *
 * A config comes in. `context` locks the data directory and opens store, keys and memory; then, here, in this order:
 * the free space is measured, HTTP opens (`http`, `http-listener`), the queue reads what is due, mail listeners open
 * (`mail-listeners`), webhooks and jobs start, the control socket opens last. `reload` takes a changed config and
 * changed certificates over while all of it runs.
 *
 * Promises that `startAppliance` either listens everywhere or leaves nothing behind, that nothing is accepted before the
 * store is open, and that `stop` ends within 30 s: requests first, then open sessions and calls, the store last. A crash
 * is safe at any line: what was accepted is in the store, and a start finds it there. Fails with `OperatorError` when
 * the data directory or an address is in use.
 */
import { closeContext, openContext } from './context.ts';
import type { ContextOptions } from './context.ts';
import { ConfigHolder } from './config-holder.ts';
import { Emulator } from './emulator.ts';
import type { EmulatorOptions } from './emulator.ts';
import { openHttp } from './http.ts';
import { openMailListeners } from './mail-listeners.ts';
import { reload, renewCertificates } from './reload.ts';
import type { Listeners } from './reload.ts';
import type { Config } from '../base/config.ts';
import { LimitedLog } from '../base/limited-log.ts';
import { Periodic } from '../base/periodic.ts';
import type { SteadyClock } from '../base/steady-clock.ts';
import type { Reloaded, Scope } from '../control/operation.ts';
import { ControlServer } from '../control/server.ts';
import { Brake } from '../flow/accounts/brake.ts';
import { Capture } from '../flow/upkeep/capture.ts';
import { CertificateKeeper, sharedCertificates } from '../flow/upkeep/certificates.ts';
import type { Context } from '../flow/context.ts';
import { ClockMarks } from '../flow/kept-clock.ts';
import { SharedJob } from '../flow/shared-job.ts';
import { DescriptorWatch } from '../flow/upkeep/descriptors.ts';
import { DiskWatch } from '../flow/upkeep/disk.ts';
import { DomainChecker } from '../flow/domains/checker.ts';
import { Queue } from '../flow/queue/queue.ts';
import { Retention } from '../flow/upkeep/retention.ts';
import { Vitals } from '../health/vitals.ts';
import { WebhookDispatcher } from '../flow/webhooks/dispatcher.ts';

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
  /** Stands in for an appliance on a developer's machine: see `flow/emulation.ts`. Default: not at all. */
  emulate?: EmulatorOptions;
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

/** Stops one part. */
type Undo = () => Promise<void>;

/** Opens the data directory and starts everything. Throws `OperatorError`, with nothing left running. */
export async function startAppliance(
  config: Config,
  options: ApplianceOptions,
): Promise<Appliance> {
  const holder = new ConfigHolder(config);
  const log = new LimitedLog(options.log, options.clock);
  const server = { ended: () => process.exit(1) };
  const opened = await openContext(holder, { server, ...options, log });
  // What has been started, in order; undone from the end.
  const started: Undo[] = [
    async () => {
      await closeContext(opened);
      log.flush();
    },
  ];
  markTime(opened, started);
  try {
    const { emulate } = options;
    const ctx = emulate === undefined ? opened : await Emulator.open(opened, emulate);
    return await startParts(ctx, started, (listeners) =>
      reload(ctx, { listeners, holder, load: options.load ?? (() => config) }),
    );
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function startParts(
  ctx: Context,
  started: Undo[],
  reloadWith: (listeners: Listeners) => Reloaded,
): Promise<Appliance> {
  const { config, log } = ctx;
  const capture = config.startup.delivery.mode === 'capture' ? new Capture(ctx.clock) : null;
  const captureAt = capture === null ? null : await capture.start();
  if (capture !== null) started.push(() => capture.stop());

  const webhooks = new WebhookDispatcher(ctx);
  const queue = new Queue(ctx, webhooks, { captureAt });
  const jobs = jobsOf(ctx);
  const vitals = new Vitals(ctx);
  await watchDisk(ctx, vitals, started);
  const http = await openHttp(ctx, { queue, webhooks, capture, vitals });
  started.push(async () => {
    await Promise.all([queue, webhooks, ...jobs].map((part) => part.stop()));
  });
  // Undone first: no request may find a queue that has stopped.
  started.push(() => http.stop());
  queue.setResting(ctx.halt.state !== null);
  await queue.start();
  const mailListeners = await openMailListeners(ctx, { queue, rates: http.rates });
  // Mail is refused before anything that takes it stops.
  started.push(() => mailListeners.stop());
  const listeners = { http: http.listener, mailListeners };
  const restable = [http.listener, ...mailListeners.restable];
  const descriptors = new Periodic(ctx, new DescriptorWatch(log, restable));
  descriptors.start();
  started.push(() => descriptors.stop());
  const keeper = keeperOf(ctx, listeners);
  keeper.start();
  started.push(() => keeper.stop());
  webhooks.start();
  for (const job of jobs) job.start();
  vitals.start();
  const takeOver = (): Reloaded => reloadWith(listeners);
  await openControl({ ctx, queue, dispatcher: webhooks, reload: takeOver }, started);

  const addresses = {
    http: http.listener.url(),
    control: `${config.startup.dataDir}/control.sock`,
    capture: captureAt === null ? null : `${captureAt.host}:${captureAt.port}`,
    ...mailListeners.addresses,
  };
  ctx.node?.onBeat(() => {
    const { inLines, inFlight } = queue.counts();
    return { taken: inLines + inFlight, inDelivery: inFlight };
  });
  ctx.node?.onDrain(() => void drainNode(ctx, [queue, webhooks, ...jobs]));
  log.info('ready', { ...addresses });
  const stop = async (): Promise<void> => {
    log.info('stopping');
    await ctx.node?.leave();
    await stopAll(started);
    log.info('stopped');
  };
  return { ctx, addresses, queue, dispatcher: webhooks, capture, reload: takeOver, stop };
}

/** What nodes on one store have in common with the authority is kept there. */
function keeperOf(ctx: Context, listeners: Listeners): CertificateKeeper {
  const sharing =
    ctx.revision.number === null
      ? null
      : { certificates: sharedCertificates(ctx), store: ctx.store };
  return new CertificateKeeper(ctx, () => renewCertificates(ctx, listeners), sharing);
}

/** Ends the work of a node whose operator wants it to, and its session; the process stays for who asks it how it is. */
async function drainNode(ctx: Context, parts: readonly { stop(): Promise<void> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.stop()));
  await ctx.node?.end();
  ctx.log.info('node_drained', {
    hint: 'Stop the server now, or start it anew to take part again.',
  });
}

/** The jobs of the flow. What is done for a whole store is done by one of the nodes that share it. */
function jobsOf(ctx: Context): Periodic[] {
  const all = {
    domains: new DomainChecker(ctx),
    brake: new Brake(ctx),
    retention: new Retention(ctx),
  };
  // On a store of its own a node has nobody to look at.
  if (ctx.revision.number === null) return Object.values(all).map((job) => new Periodic(ctx, job));
  const parts = { store: ctx.store, clock: ctx.clock, holder: ctx.ids.next(ctx.clock.now()) };
  const shared = Object.entries(all).map(([name, job]) => new SharedJob(parts, name, job));
  return [...shared, ctx.revision].map((job) => new Periodic(ctx, job));
}

/** Marks the time for the next start, once more when all else has stopped. Nodes go by the time of their store. */
function markTime(ctx: Context & { clock: SteadyClock }, started: Undo[]): void {
  if (ctx.revision.number !== null) return;
  const marks = new Periodic(ctx, new ClockMarks(ctx.clock, ctx.store));
  marks.start();
  started.push(async () => {
    await marks.stop();
    await marks.runNow();
  });
}

/** Resolves after the first measurement: nothing is accepted before it. */
async function watchDisk(ctx: Context, vitals: Vitals, started: Undo[]): Promise<void> {
  const disk = new Periodic(ctx, new DiskWatch(ctx));
  disk.start();
  started.push(async () => {
    await disk.stop();
    vitals.stop();
  });
  await disk.runNow();
}

async function openControl(scope: Omit<Scope, 'sink' | 'by'>, started: Undo[]): Promise<void> {
  const { config, log } = scope.ctx;
  const control = new ControlServer(
    config.startup.dataDir,
    async (name, args, { sink, by }) => {
      // Loaded with the first command.
      const { runOperation } = await import('../control/operations.ts');
      return runOperation({ ...scope, sink, by }, name, args);
    },
    log,
  );
  await control.start();
  started.push(() => control.stop());
}

async function stopAll(started: Undo[]): Promise<void> {
  for (let undo = started.pop(); undo !== undefined; undo = started.pop()) await undo();
}
