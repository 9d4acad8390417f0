/**
 * What the main thread is at: names of what has begun and not ended, and of what ended lately.
 *
 * Promises bounded memory and a cost far below a microsecond, since every request is noted. Names come from the code,
 * never from mail, requests or the config. Says what was under way, not which of it kept the thread busy.
 */

/** Of what ended since the last `take`, so many are remembered. */
const ENDED_MAX = 16;
/** Names in one text; the rest are counted. */
const NAMES_MAX = 6;

export class Activities {
  readonly #running = new Set<{ readonly name: string }>();
  readonly #ended: string[] = [];
  #begun: (() => void) | null = null;

  /** `begun` is called whenever something begins, and must be cheap; null ends that. */
  watch(begun: (() => void) | null): void {
    this.#begun = begun;
  }

  /** Whether anything has begun and not ended. */
  get isAny(): boolean {
    return this.#running.size > 0;
  }

  /** Notes that `name` begins; the function that is returned notes its end. */
  begin(name: string): () => void {
    this.#begun?.();
    const activity = { name };
    this.#running.add(activity);
    return () => {
      this.#running.delete(activity);
      if (this.#ended.length < ENDED_MAX) this.#ended.push(name);
    };
  }

  /** The same around `work`. */
  async during<T>(name: string, work: () => Promise<T>): Promise<T> {
    const end = this.begin(name);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** What was under way since the last call, each name once: what ended first, then the newest. */
  take(): string {
    const names = new Set([
      ...this.#ended.splice(0),
      ...Array.from(this.#running, ({ name }) => name).toReversed(),
    ]);
    const shown = Array.from(names).slice(0, NAMES_MAX);
    if (names.size > shown.length) shown.push(`${names.size - shown.length} more`);
    return shown.join(', ');
  }

  /** Forgets what has ended. */
  forget(): void {
    this.#ended.length = 0;
  }
}
