/**
 * A job that runs by the clock, for as long as the appliance does.
 *
 * Promises one run at a time, the next one `everyMs` after the last has ended, whatever the wall clock does
 * meanwhile, and that a run which fails is logged once and followed by the next. `stop` resolves when no run is under
 * way and none will begin. Never throws and never rejects. A run that does not end holds up the next one and `stop`.
 */
import type { Activities } from './activities.ts';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

export interface Job {
  /** From `start` to the first run, in milliseconds; 0: at once. */
  readonly firstMs: number;
  /** What a failed run is called in the log (snake_case), and what the operator can do about it. */
  readonly failure: { readonly event: string; readonly hint: string };
  /** From the end of a run to the next, in milliseconds; asked after each run. */
  everyMs(): number;
  /** Does the work once. `signal` is aborted by `stop`: the run should then end after the step under way. */
  run(signal: AbortSignal): Promise<void>;
}

export class Periodic {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #doing: Activities | null;
  readonly #job: Job;
  /** From `start` to `stop`; null otherwise. */
  #life: AbortController | null = null;
  #cancel: (() => void) | null = null;
  #running: Promise<void> | null = null;

  /** `doing`: where its runs are noted. */
  constructor({ clock, log, doing }: { clock: Clock; log: Log; doing?: Activities }, job: Job) {
    this.#clock = clock;
    this.#log = log;
    this.#doing = doing ?? null;
    this.#job = job;
  }

  /** The first run comes after the job's `firstMs`. Starting twice does nothing; after `stop` it starts anew. */
  start(): void {
    if (this.#life !== null) return;
    this.#life = new AbortController();
    this.#arm(this.#job.firstMs);
  }

  /** Runs now, or waits for the run under way. Resolves when it has ended, failed or not. */
  runNow(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#life !== null) this.#arm(this.#job.everyMs());
    });
    return this.#running;
  }

  /** No run begins from now on. Resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#life?.abort();
    this.#life = null;
    this.#cancel?.();
    await this.#running;
  }

  #arm(waitMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(waitMs, () => void this.runNow());
  }

  async #run(): Promise<void> {
    const { signal } = this.#life ?? new AbortController();
    const { event, hint } = this.#job.failure;
    const end = this.#doing?.begin(event.replace(/_(?:failed|unknown)$/, ''));
    try {
      await this.#job.run(signal);
    } catch (error) {
      this.#log.error(event, { error, hint });
    }
    end?.();
  }
}
