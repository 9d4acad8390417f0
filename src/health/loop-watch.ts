/**
 * Measures the ticks of the main thread's event loop: how late a timer of a few milliseconds runs.
 *
 * Promises that a tick of more than 75 ms is counted and logged with what was under way, one of more than 50 ms most
 * often. While the thread is idle the timer is slower, since each look wakes the machine: then that holds from the next
 * request, message over SMTP, command or job on, and of anything else a tick of more than 300 ms is seen. The log has a
 * line for the first of them, then at most one in ten seconds, with the number of the others. `cpu_ms` is what the
 * thread used of the processor meanwhile: far less than `ms` means that the machine was busy, or the disk slow. A warning
 * is only what breaks our own promise: work that kept the loop for more than 250 ms.
 * Its timer measures and is no time of business.
 */
import type { Context } from '../flow/context.ts';

const EVERY_MS = 25;
const IDLE_EVERY_MS = 250;
/**
 * A thread that uses less of a processor is quiet. After so many looks at which it was, with nothing under way that has
 * a name, it is idle.
 */
const QUIET_SHARE = 0.05;
const QUIET_LOOKS = 4;
const BLOCKED_MS = 50;
/** What docs/reliability.md promises of any input. */
const PROMISED_MS = 250;
const LINE_EVERY_MS = 10_000;
/** Where nothing that has a name was under way. */
const NAMELESS = 'mail under way, or the collection of garbage';

export class LoopWatch {
  readonly #ctx: Pick<Context, 'clock' | 'doing' | 'log' | 'metrics'>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #everyMs = EVERY_MS;
  #quietLooks = 0;
  #lastAt = 0;
  #lastCpuMs = 0;
  #silentUntil = -Infinity;
  #unsaid = 0;

  constructor(ctx: Pick<Context, 'clock' | 'doing' | 'log' | 'metrics'>) {
    this.#ctx = ctx;
  }

  start(): void {
    this.#ctx.doing.watch(() => this.#begun());
    this.#arm(EVERY_MS);
  }

  stop(): void {
    this.#ctx.doing.watch(null);
    clearTimeout(this.#timer);
  }

  #arm(everyMs: number): void {
    this.#everyMs = everyMs;
    this.#lastAt = performance.now();
    this.#lastCpuMs = cpuMs();
    this.#timer = setTimeout(() => this.#look(), everyMs);
    this.#timer.unref();
  }

  /** Something begins that has a name. */
  #begun(): void {
    if (this.#everyMs === EVERY_MS) return;
    this.#quietLooks = 0;
    clearTimeout(this.#timer);
    this.#arm(EVERY_MS);
  }

  #look(): void {
    const { metrics, doing } = this.#ctx;
    const passedMs = performance.now() - this.#lastAt;
    const usedMs = cpuMs() - this.#lastCpuMs;
    const lateMs = Math.max(0, passedMs - this.#everyMs);
    metrics.loopLagSeconds.observe(lateMs / 1000);
    if (lateMs > BLOCKED_MS) this.#blocked(lateMs, usedMs);
    else doing.forget();
    const isQuiet = usedMs < QUIET_SHARE * passedMs && !doing.isAny;
    this.#quietLooks = isQuiet ? this.#quietLooks + 1 : 0;
    this.#arm(this.#quietLooks < QUIET_LOOKS ? EVERY_MS : IDLE_EVERY_MS);
  }

  #blocked(ms: number, usedMs: number): void {
    const { metrics, doing, log, clock } = this.#ctx;
    metrics.loopBlocked.inc();
    const what = doing.take();
    const now = clock.steady();
    if (now < this.#silentUntil) {
      this.#unsaid += 1;
      return;
    }
    this.#silentUntil = now + LINE_EVERY_MS;
    const fields = {
      ms: Math.round(ms),
      cpu_ms: Math.round(usedMs),
      what: what === '' ? NAMELESS : what,
      unsaid: this.#unsaid,
    };
    if (usedMs > PROMISED_MS) {
      const hint = 'Work of the appliance stopped everything else for so long. Please report it.';
      log.warn('loop_blocked', { ...fields, hint });
    } else {
      log.info('loop_late', fields);
    }
    this.#unsaid = 0;
  }
}

/** Processor time of this thread, user and system, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
