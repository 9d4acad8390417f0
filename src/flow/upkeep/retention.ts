/**
 * Deletes what has been kept long enough: content, request logs by plan, history, idempotency records. The story of
 * this room:
 *
 * Nothing comes in here: these jobs keep the appliance able to work. `disk` refuses sends before the disk is full,
 * `retention` deletes what is old, `certificates` renews what HTTP and SMTP show; `capture` receives the mail of
 * capture mode, and `spam-checks` asks an rspamd about it. `base/periodic` runs the jobs one at a time. A crash in any of
 * them repeats the run.
 *
 * Promises that the content of mail still waiting is kept, and that mail is accepted and delivered during a run: the
 * store works in small steps. A round that fails leaves the rest to the next one.
 */
import type { Job } from '../../base/periodic.ts';
import { inParts } from '../../store/parts.ts';
import { planOf } from '../accounts/plans.ts';
import type { Context } from '../context.ts';

const EVERY_MS = 3_600_000;
/** Where content is not to be kept at all, it must not stay on the disk for an hour. */
const EVERY_MS_KEEPING_NONE = 60_000;
const DAY_MS = 86_400_000;
/** Some 200 bytes each: API keys that change things all day must not fill the disk. */
const AUDIT_ROWS_MAX = 500_000;

/** From here on a day more makes no difference. */
const LONG_MS = 7 * DAY_MS;

/** How much longer what is kept for `keptMs` may stay, so that a store can drop a day as a whole: that day, and a round or two. */
const mayWaitMs = (keptMs: number): number => (keptMs < LONG_MS ? 0 : DAY_MS + 2 * EVERY_MS);

type RetentionContext = Pick<Context, 'config' | 'store' | 'clock' | 'log'>;

export class Retention implements Job {
  /** Not at once: a start under load has more urgent work. */
  readonly firstMs = 60_000;
  readonly failure = {
    event: 'retention_failed',
    hint: 'It is tried again in an hour; look at the disk when it fails again.',
  };
  readonly #ctx: RetentionContext;

  constructor(ctx: RetentionContext) {
    this.#ctx = ctx;
  }

  everyMs(): number {
    return this.#ctx.config.live.retention.bodiesMs === 0 ? EVERY_MS_KEEPING_NONE : EVERY_MS;
  }

  /** Ends after the step under way when `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, config, log } = this.#ctx;
    const now = clock.now();
    const { bodiesMs, historyMs, auditMs } = config.live.retention;
    await store.prepareDays(now);
    const removed = {
      bodies: await store.purgeBodies(now - bodiesMs, mayWaitMs(bodiesMs)),
      history: 0,
      messages: 0,
      expired: 0,
      logs: 0,
      audit: 0,
    };
    if (!signal.aborted) removed.expired = await store.purgeExpired(now, clock.steady());
    if (!signal.aborted)
      removed.history = await store.purgeHistory(now - historyMs, mayWaitMs(historyMs));
    if (!signal.aborted)
      removed.messages = await store.purgeMessages(now - historyMs, mayWaitMs(historyMs));
    if (!signal.aborted) removed.audit = await store.purgeAudit(now - auditMs, AUDIT_ROWS_MAX);
    if (!signal.aborted) removed.logs = await this.#purgeLogs(now, signal);
    if (!signal.aborted) await store.scrub();
    if (Object.values(removed).some((count) => count > 0)) log.info('retention', removed);
  }

  /** Each account's as its plan says; returns how many rows went. */
  async #purgeLogs(now: number, signal: AbortSignal): Promise<number> {
    const { store, config } = this.#ctx;
    let removed = 0;
    for await (const accounts of inParts((part) => store.accounts(part))) {
      for (const account of accounts) {
        if (signal.aborted) return removed;
        const keptMs = planOf(config.live.plans, account).logRetentionDays * DAY_MS;
        removed += await store.purgeLogs(account.id, now - keptMs);
      }
    }
    return removed;
  }
}
