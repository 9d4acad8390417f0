/**
 * What the appliance knows of itself and its host: the numbers of `/metrics` and the findings of the host check.
 *
 * The story of this folder. `doctor.ts` asks every question about the host once, a file for each group of questions
 * (machine, config, database, resolver, identity, network, smarthost), and gives one `Finding` for each: what was seen and what
 * to do. `postrider doctor` prints them; `host-check.ts` repeats them every hour in the service, for `/health`, the
 * dashboard and the log. `loop-watch.ts` measures the delay of the main thread all the time; this file reads the other
 * numbers when `/metrics` is asked. What all nodes read from one store (`kept-reading.ts`) is
 * read seldom enough not to load it. Nothing here is kept on disk and nothing is changed on the host, so a crash loses only
 * the last findings.
 *
 * Promises that numbers are shown within seconds while the store is away, without those that it alone knows.
 */
import { readdirSync } from 'node:fs';

import { VERSION } from '../base/version.ts';
import type { Context } from '../flow/context.ts';
import type { QueueKind } from '../store/operator.ts';
import { NODE_STATES, nodeState } from '../store/nodes.ts';
import type { ListedSession } from '../store/nodes.ts';
import { StoreAwayError } from '../store/store.ts';
import type { Finding } from './finding.ts';
import { HostCheck } from './host-check.ts';
import { KeptReading } from './kept-reading.ts';
import { LoopWatch } from './loop-watch.ts';

/** Who scrapes waits for 10 s, unless told otherwise. */
const PATIENCE_MS = 5_000;

/** What waits, as it was at the moment `now`. */
interface Backlog {
  now: number;
  kinds: QueueKind[];
  openCalls: number;
}

export class Vitals {
  readonly #ctx: Context;
  readonly #hostCheck: HostCheck;
  readonly #loopWatch: LoopWatch;
  readonly #waiting: KeptReading<Backlog>;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#hostCheck = new HostCheck(ctx);
    this.#loopWatch = new LoopWatch(ctx);
    this.#waiting = new KeptReading(ctx.clock, async () => {
      const now = ctx.clock.now();
      const { kinds } = await ctx.store.queueCounts(null, 0);
      return { now, kinds, openCalls: await ctx.store.openCalls() };
    });
    if (ctx.node !== null) {
      const { cluster } = ctx.config.startup;
      const labels = { node: ctx.node.name, service: cluster.name, version: VERSION.version };
      ctx.metrics.node.set(labels, 1);
    }
    ctx.metrics.build.set({ ...VERSION }, 1);
    ctx.metrics.startedAt.set(Math.floor(Date.now() / 1000 - process.uptime()));
  }

  start(): void {
    this.#hostCheck.start();
    this.#loopWatch.start();
  }

  stop(): void {
    this.#hostCheck.stop();
    this.#loopWatch.stop();
  }

  /** What the last host check found, and when; null before the first one. */
  get findings(): { checkedAt: number; findings: Finding[] } | null {
    return this.#hostCheck.last;
  }

  /** Makes the host check now; resolves when it has ended. */
  checkNow(): Promise<void> {
    return this.#hostCheck.checkNow();
  }

  /** Everything in the Prometheus text format, read now; what waits, a moment ago. */
  async render(): Promise<string> {
    const { metrics, halt } = this.#ctx;
    const shared = await this.#readShared();
    this.#showWaiting(shared?.waiting ?? null);
    this.#showNodes(shared?.nodes ?? []);
    metrics.isHalted.set(halt.state === null ? 0 : 1);
    await this.#readDatabase();
    metrics.memory.set(process.memoryUsage.rss());
    metrics.descriptors.set(readdirSync('/proc/self/fd').length);
    return await metrics.render();
  }

  /** What every node reads from the store that they share; null while it does not answer. */
  async #readShared(): Promise<{ waiting: Backlog; nodes: ListedSession[] } | null> {
    const { clock, nodes } = this.#ctx;
    const late = Promise.withResolvers<null>();
    const cancel = clock.after(PATIENCE_MS, () => late.resolve(null));
    const reading = Promise.all([this.#waiting.get(), nodes?.list() ?? []]);
    try {
      const read = await Promise.race([reading, late.promise]);
      return read && { waiting: read[0], nodes: read[1] };
    } catch (error) {
      if (error instanceof StoreAwayError) return null;
      throw error;
    } finally {
      cancel();
    }
  }

  async #readDatabase(): Promise<void> {
    const { metrics, store, node } = this.#ctx;
    const state = await store.databaseState();
    if (state === null) return;
    metrics.databaseConnections.set({ state: 'used' }, state.used);
    metrics.databaseConnections.set({ state: 'idle' }, state.idle);
    metrics.databaseWaiting.set(state.waiting);
    metrics.isDatabaseAway.set(state.isAway || node?.notReady === 'database_away' ? 1 : 0);
    metrics.databaseCommitAge.set(state.sinceCommitMs / 1000);
  }

  #showNodes(nodes: readonly ListedSession[]): void {
    const { metrics } = this.#ctx;
    metrics.nodes.reset();
    if (nodes.length === 0) return;
    const states = nodes.map(nodeState);
    for (const state of NODE_STATES) {
      metrics.nodes.set({ state }, states.filter((one) => one === state).length);
    }
  }

  #showWaiting(seen: Backlog | null): void {
    const { metrics } = this.#ctx;
    metrics.queueRecipients.reset();
    metrics.queueOldestSeconds.reset();
    metrics.webhookBacklog.remove();
    if (seen === null) return;
    metrics.webhookBacklog.set(seen.openCalls);
    for (const { kind: destination, waiting, oldestCreatedAt } of seen.kinds) {
      metrics.queueRecipients.set({ destination }, waiting);
      const ageMs = Math.max(0, seen.now - oldestCreatedAt);
      metrics.queueOldestSeconds.set({ destination }, ageMs / 1000);
    }
  }
}
