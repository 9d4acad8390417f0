/**
 * A job that the nodes on one store do once, not each of them.
 *
 * Promises that no two nodes run it at the same time, and that it runs about as often as one node alone would run it: the
 * node that has run it keeps it from all for as long as it waits itself. A node that vanishes in a run is followed by
 * another within a minute and a half. Where the lease cannot be kept, the run is told to end after the step under way;
 * until then two may overlap, which each of these jobs bears. Fails as the job or the store fails.
 */
import type { Clock } from '../base/clock.ts';
import type { Job } from '../base/periodic.ts';
import type { JobStore } from '../store/jobs.ts';

const LEASE_MS = 60_000;
const RENEW_MS = 15_000;
/** A job of another node may be free before its own time comes: that node may have vanished. */
const ASK_EVERY_MS = 30_000;

interface Parts {
  store: JobStore;
  clock: Clock;
  /** Of this process, different for every start. */
  holder: string;
}

export class SharedJob implements Job {
  readonly #parts: Parts;
  readonly #name: string;
  readonly #job: Job;
  #hasRun = false;

  /** `name`: the same on every node. */
  constructor(parts: Parts, name: string, job: Job) {
    this.#parts = parts;
    this.#name = name;
    this.#job = job;
  }

  get firstMs(): number {
    return this.#job.firstMs;
  }

  get failure(): Job['failure'] {
    return this.#job.failure;
  }

  everyMs(): number {
    const everyMs = this.#job.everyMs();
    return this.#hasRun ? everyMs : Math.min(everyMs, ASK_EVERY_MS);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { store, holder } = this.#parts;
    this.#hasRun = await store.takeJob(this.#name, holder, LEASE_MS);
    if (!this.#hasRun) return;
    const lost = new AbortController();
    const release = this.#keep(lost);
    try {
      await this.#job.run(AbortSignal.any([signal, lost.signal]));
    } finally {
      await release();
      // What was cut short goes on elsewhere.
      const restMs = signal.aborted ? 0 : this.#job.everyMs();
      await store.endJob(this.#name, holder, restMs);
    }
  }

  /** Keeps the lease until the returned function is called; aborts `lost` where it is another's. */
  #keep(lost: AbortController): () => Promise<void> {
    const { store, clock, holder } = this.#parts;
    let isOver = false;
    let keptUntil = clock.steady() + LEASE_MS;
    let renewal: Promise<void> = Promise.resolve();
    let cancel = (): void => undefined;
    const renew = async (): Promise<void> => {
      const askedAt = clock.steady();
      try {
        const isOurs = await store.takeJob(this.#name, holder, LEASE_MS);
        keptUntil = isOurs ? askedAt + LEASE_MS : askedAt;
      } catch {
        // Whoever cannot ask has it for as long as it was given.
      }
      if (clock.steady() + RENEW_MS >= keptUntil) lost.abort();
      else if (!isOver) arm();
    };
    const arm = (): void => {
      cancel = clock.after(RENEW_MS, () => {
        renewal = renew();
      });
    };
    arm();
    return async () => {
      isOver = true;
      cancel();
      await renewal;
    };
  }
}
