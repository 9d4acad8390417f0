/**
 * Emails that are accepted one after another begin together: threads and caches that wake once then serve several.
 *
 * Promises that an email which comes alone begins at once, that none waits longer than `WINDOW_MS` for others, and that
 * none waits once `ENOUGH` are in line. Only beginnings wait: what is in line was marked and stored before. Why these
 * figures: docs/decisions.md D514. Cannot fail.
 */

/** Beginnings lie so many milliseconds apart, in real time, unless enough are in line. */
const WINDOW_MS = 40;
/** Recipients in line that are worth beginning with. */
const ENOUGH = 10;

export class Gathering {
  readonly #over: () => void;
  /** When the last ones began, on the scale of `performance.now()`. */
  #begunAt = -Infinity;
  /** Runs while those in line wait for others. */
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Those in line are to begin with the next pick, and so is what comes until then. */
  #isDue = false;

  /** `over`: called when time has ended a wait. */
  constructor(over: () => void) {
    this.#over = over;
  }

  /** An email came into line: where others began a moment ago, it waits for those that come in the rest of the window. */
  noteAccepted(): void {
    if (this.#timer !== null || this.#isDue) return;
    const restMs = this.#begunAt + WINDOW_MS - performance.now();
    if (restMs > 0) this.#timer = setTimeout(() => this.#end(), restMs);
    else this.#isDue = true;
  }

  /** Whether the `waiting` recipients in line wait for more of them. Where not, they begin now. */
  holds(waiting: number): boolean {
    if (this.#timer !== null && waiting < ENOUGH) return true;
    if (this.#timer !== null || this.#isDue) this.stop();
    return false;
  }

  /** Ends the wait. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isDue = false;
    this.#begunAt = performance.now();
  }

  #end(): void {
    this.#timer = null;
    this.#isDue = true;
    this.#over();
  }
}
