/**
 * What the appliance knows of itself and its host: the numbers of `/metrics` and the findings of the host check.
 *
 * The story of this folder. `doctor.ts` asks every question about the host once, a file for each group of questions
 * (machine, config, database, resolver, identity, network, smarthost), and gives one `Finding` for each: what was seen and what
 * to do. `postrider doctor` prints them; `host-check.ts` repeats them every hour in the service, for `/health`, the
 * dashboard and the log. `loop-watch.ts` measures the delay of the main thread all the time; this file reads the other
 * numbers when `/metrics` is asked. Nothing here is kept on disk and nothing is changed on the host, so a crash loses only
 * the last findings.
 *
 * Promises that reading the numbers never waits for the network.
 */
import { readdirSync } from 'node:fs';

import { VERSION } from '../base/version.ts';
import type { Context } from '../flow/context.ts';
import { destinationKind } from '../base/destination-kind.ts';
import type { Finding } from './finding.ts';
import { HostCheck } from './host-check.ts';
import { LoopWatch } from './loop-watch.ts';

export class Vitals {
  readonly #ctx: Context;
  readonly #hostCheck: HostCheck;
  readonly #loopWatch: LoopWatch;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#hostCheck = new HostCheck(ctx);
    this.#loopWatch = new LoopWatch(ctx);
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

  /** Everything in the Prometheus text format, read now. */
  async render(): Promise<string> {
    const { metrics, store, halt } = this.#ctx;
    await this.#readQueue();
    metrics.webhookBacklog.set(await store.openCalls());
    metrics.isHalted.set(halt.state === null ? 0 : 1);
    await this.#readDatabase();
    metrics.memory.set(process.memoryUsage.rss());
    metrics.descriptors.set(readdirSync('/proc/self/fd').length);
    return await metrics.render();
  }

  async #readDatabase(): Promise<void> {
    const { metrics, store } = this.#ctx;
    const state = await store.databaseState();
    if (state === null) return;
    metrics.databaseConnections.set({ state: 'used' }, state.used);
    metrics.databaseConnections.set({ state: 'idle' }, state.idle);
    metrics.databaseWaiting.set(state.waiting);
    metrics.isDatabaseAway.set(state.isAway ? 1 : 0);
    metrics.databaseCommitAge.set(state.sinceCommitMs / 1000);
  }

  async #readQueue(): Promise<void> {
    const { metrics, store, clock } = this.#ctx;
    const now = clock.now();
    const waiting = new Map<string, { count: number; oldestAt: number }>();
    for (const row of await store.queueCounts(now)) {
      const name = destinationKind(row.domain);
      const sum = waiting.get(name) ?? { count: 0, oldestAt: row.oldestCreatedAt };
      sum.count += row.waiting;
      sum.oldestAt = Math.min(sum.oldestAt, row.oldestCreatedAt);
      waiting.set(name, sum);
    }
    metrics.queueRecipients.reset();
    metrics.queueOldestSeconds.reset();
    for (const [destination, { count, oldestAt }] of waiting) {
      metrics.queueRecipients.set({ destination }, count);
      metrics.queueOldestSeconds.set({ destination }, Math.max(0, now - oldestAt) / 1000);
    }
  }
}
