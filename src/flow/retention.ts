/**
 * Forgets what has been kept long enough: content, request logs by plan, history, idempotency records.
 *
 * Promises that the content of mail still waiting is kept, and that mail goes on meanwhile: the store
 * works in small steps. A failure is logged and tried again at the next round.
 */
import type { Context } from './context.ts';
import { planOf } from './plans.ts';

const EVERY_MS = 3_600_000;
/** Where content is not to be kept at all, it must not lie about for an hour. */
const EVERY_MS_KEEPING_NONE = 60_000;
/** Not at once: a start under load has better things to do. */
const FIRST_MS = 60_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

export class Retention {
  readonly #ctx: Context;
  #cancel: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = true;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  start(): void {
    this.#isStopped = false;
    this.#arm(FIRST_MS);
  }

  /** Ends after the step under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  #arm(waitMs: number): void {
    const { clock } = this.#ctx;
    this.#cancel = clock.at(clock.now() + waitMs, () => {
      this.#running = this.#round().finally(() => {
        if (this.#isStopped) return;
        const keepsNone = this.#ctx.config.retention.bodiesMs === 0;
        this.#arm(keepsNone ? EVERY_MS_KEEPING_NONE : EVERY_MS);
      });
    });
  }

  async #round(): Promise<void> {
    const { log } = this.#ctx;
    try {
      const removed = await this.#forget();
      if (Object.values(removed).some((count) => count > 0)) log.info('retention', removed);
    } catch (error) {
      log.error('retention failed', {
        error,
        hint: 'It is tried again in an hour; look at the disk when it fails again.',
      });
    }
  }

  async #forget(): Promise<Record<'bodies' | 'history' | 'expired' | 'logs', number>> {
    const { store, clock, config } = this.#ctx;
    const now = clock.now();
    const { bodiesMs, historyMs = YEAR_MS } = config.retention;
    const removed = {
      bodies: await store.purgeBodies(now - bodiesMs),
      history: 0,
      expired: 0,
      logs: 0,
    };
    if (!this.#isStopped) removed.expired = await store.purgeExpired(now);
    if (!this.#isStopped) removed.history = await store.purgeHistory(now - historyMs);
    for (const account of await store.accounts()) {
      if (this.#isStopped) break;
      const before = now - planOf(config, account).logRetentionDays * DAY_MS;
      removed.logs += await store.purgeLogs(account.id, before);
    }
    return removed;
  }
}
