/**
 * The host check, repeated every hour while the appliance runs.
 *
 * Promises that the findings of the last check can be read at any time without waiting, that an error found for the
 * first time goes to the log once, and that a check which fails or hangs harms nothing else.
 */
import { Periodic } from '../base/periodic.ts';
import type { Context } from '../flow/context.ts';
import { examine } from './doctor.ts';
import type { Finding, Level } from './finding.ts';

const HOUR_MS = 3_600_000;
/** The first check waits, so that the start is quick and its log short. */
const FIRST_CHECK_MS = 60_000;
const LEVELS: readonly Level[] = ['ok', 'warning', 'error', 'unchecked'];

export class HostCheck {
  readonly #ctx: Context;
  readonly #checks: Periodic;
  /** The check that is being made. */
  #running: Promise<void> | null = null;
  #last: { checkedAt: number; findings: Finding[] } | null = null;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#checks = new Periodic(ctx, {
      firstMs: FIRST_CHECK_MS,
      failure: {
        event: 'doctor_failed',
        hint: 'The host was not checked. The next check is in an hour; run `postrider doctor` to check now.',
      },
      everyMs: () => HOUR_MS,
      run: () => this.checkNow(),
    });
  }

  start(): void {
    this.#checks.start();
  }

  stop(): void {
    // Not waited for: a check only asks the network, and what it finds too late harms nothing.
    void this.#checks.stop();
  }

  /** What the last check found, and when (epoch milliseconds); null before the first one. */
  get last(): { checkedAt: number; findings: Finding[] } | null {
    return this.#last;
  }

  /** Checks without waiting for the hour; resolves with the check that is being made, if one is. */
  async checkNow(): Promise<void> {
    this.#running ??= this.#check().finally(() => (this.#running = null));
    await this.#running;
  }

  async #check(): Promise<void> {
    const { clock, log, metrics } = this.#ctx;
    const before = this.#last?.findings ?? [];
    const known = new Set(before.map((one) => problemOf(one, before)));
    const findings = await examine(this.#ctx);
    this.#last = { checkedAt: clock.now(), findings };
    for (const level of LEVELS) {
      metrics.findings.set({ level }, findings.filter((one) => one.level === level).length);
    }
    for (const one of findings) {
      const { check, level, summary, advice } = one;
      if (level !== 'error' || known.has(problemOf(one, findings))) continue;
      log.error('host_problem_found', { check, summary, hint: advice ?? '' });
    }
  }
}

/** Two findings are one problem by their question; where it has several answers, one an address, by their words too. */
function problemOf({ check, level, summary }: Finding, all: readonly Finding[]): string {
  const isOnly = all.filter((one) => one.check === check).length === 1;
  return isOnly ? `${check} ${level}` : `${check} ${level} ${summary}`;
}
