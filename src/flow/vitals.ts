/**
 * How the appliance itself is: the hourly host check, the lag of the main thread, and what is waiting.
 *
 * Promises that reading the numbers never waits for the network, and that a host check which fails or
 * hangs harms nothing else. What the check finds for the first time goes to the log.
 */
import { readdirSync } from 'node:fs';

import { VERSION } from '../base/version.ts';
import type { Context } from './context.ts';
import type { Finding, Level } from './doctor-finding.ts';
import { examine } from './doctor.ts';
import { haltOf } from './halt.ts';

const HOUR_MS = 3_600_000;
/** The first check waits, so that a start is quick and quiet. */
const FIRST_CHECK_MS = 60_000;
const LAG_SAMPLE_MS = 500;
const LEVELS: readonly Level[] = ['ok', 'warning', 'error', 'unchecked'];

/** The big consumer domains; one label each, everybody else is one more. */
const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    gmail: ['gmail.com', 'googlemail.com'],
    microsoft: ['outlook.com', 'hotmail.com', 'live.com', 'msn.com'],
    yahoo: ['yahoo.com', 'ymail.com', 'aol.com'],
    apple: ['icloud.com', 'me.com', 'mac.com'],
  }).flatMap(([kind, domains]) => domains.map((domain): [string, string] => [domain, kind])),
);

function kindOf(domain: string): string {
  return KINDS.get(domain) ?? 'other';
}

export class Vitals {
  readonly #ctx: Context;
  #findings: Finding[] = [];
  #checkedAt: number | null = null;
  #cancel: (() => void) | null = null;
  #lagTimer: ReturnType<typeof setInterval> | null = null;
  #isStopped = false;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    ctx.metrics.build.set({ ...VERSION }, 1);
    ctx.metrics.startedAt.set({}, Math.floor(Date.now() / 1000 - process.uptime()));
  }

  start(): void {
    this.#checkIn(FIRST_CHECK_MS);
    let dueAt = performance.now() + LAG_SAMPLE_MS;
    this.#lagTimer = setInterval(() => {
      const now = performance.now();
      this.#ctx.metrics.loopLagSeconds.observe(Math.max(0, now - dueAt) / 1000);
      dueAt = now + LAG_SAMPLE_MS;
    }, LAG_SAMPLE_MS);
    this.#lagTimer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    if (this.#lagTimer !== null) clearInterval(this.#lagTimer);
  }

  /** What the last host check found, and when; null before the first one. */
  get findings(): { checkedAt: number; findings: Finding[] } | null {
    return this.#checkedAt === null
      ? null
      : { checkedAt: this.#checkedAt, findings: this.#findings };
  }

  /** Everything in the Prometheus text format, read now. */
  async render(): Promise<string> {
    const { metrics, store, clock } = this.#ctx;
    const now = clock.now();
    metrics.queueRecipients.clear();
    metrics.queueOldestSeconds.clear();
    const waiting = new Map<string, { count: number; oldestAt: number }>();
    for (const row of await store.queueCounts(now)) {
      const name = kindOf(row.domain);
      const sum = waiting.get(name) ?? { count: 0, oldestAt: row.oldestCreatedAt };
      sum.count += row.waiting;
      sum.oldestAt = Math.min(sum.oldestAt, row.oldestCreatedAt);
      waiting.set(name, sum);
    }
    for (const [destination, { count, oldestAt }] of waiting) {
      metrics.queueRecipients.set({ destination }, count);
      metrics.queueOldestSeconds.set({ destination }, Math.max(0, now - oldestAt) / 1000);
    }
    metrics.webhookBacklog.set({}, await store.openCalls());
    metrics.isHalted.set({}, haltOf(this.#ctx) === null ? 0 : 1);
    metrics.memory.set({}, process.memoryUsage.rss());
    metrics.descriptors.set({}, readdirSync('/proc/self/fd').length);
    return metrics.render();
  }

  #checkIn(waitMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ctx.clock.at(this.#ctx.clock.now() + waitMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const { clock, log, metrics } = this.#ctx;
    try {
      const known = new Set(this.#findings.map((one) => `${one.check} ${one.level}`));
      this.#findings = await examine(this.#ctx);
      this.#checkedAt = clock.now();
      for (const level of LEVELS) {
        const count = this.#findings.filter((one) => one.level === level).length;
        metrics.findings.set({ level }, count);
      }
      for (const { check, level, summary, advice } of this.#findings) {
        if (level !== 'error' || known.has(`${check} ${level}`)) continue;
        log.error('doctor', { check, summary, hint: advice ?? '' });
      }
    } catch (error) {
      log.warn('doctor_failed', { error });
    }
    this.#checkIn(HOUR_MS);
  }
}
