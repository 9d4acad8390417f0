/**
 * Guesses of the operator's password: how many each peer has, and how many are checked at once.
 *
 * Promises that a peer who has used up its guesses gets no more by guessing at once, from its other IPv6
 * addresses, or behind a crowd of other peers; and that checking never takes more memory or processor than
 * `CHECKS_MAX` of them do. Right passwords count for nothing. Fails as the check fails.
 */
import type { Clock } from '../base/clock.ts';
import { addressUnit } from '../wire/address-unit.ts';

/** Wrong passwords of one peer within the window. */
const FAILURES_MAX = 10;
const WINDOW_MS = 60_000;
const PEERS_MAX = 1_000;
/** Each takes 64 MiB (Argon2id as Bun sets it) and about a tenth of a second of a core. */
const CHECKS_MAX = 2;
/** So that an operator who comes in the middle of guesses waits a moment instead of being turned away. */
const WAITING_MAX = 16;

/** `slow_down`: this peer has guessed too often; `busy`: too many guess just now. */
export type Guess = 'right' | 'wrong' | 'slow_down' | 'busy';

export class Guesses {
  readonly #clock: Clock;
  readonly #isRight: (password: string) => Promise<boolean>;
  /** Longest without a guess first. */
  readonly #failures = new Map<string, { count: number; untilMs: number }>();
  readonly #waiting: (() => void)[] = [];
  #checks = 0;

  constructor(clock: Clock, isRight: (password: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#isRight = isRight;
  }

  /** What one guess from the address `peer` comes to. */
  async check(password: string, peer: string): Promise<Guess> {
    const unit = addressUnit(peer);
    const now = this.#clock.now();
    const failures = this.#failures.get(unit);
    const before = failures !== undefined && failures.untilMs > now ? failures.count : 0;
    if (before >= FAILURES_MAX) return 'slow_down';
    if (this.#checks >= CHECKS_MAX && this.#waiting.length >= WAITING_MAX) return 'busy';
    // Counted before it is checked: guesses made at once are slowed like those made one by one.
    this.#note(unit, { count: before + 1, untilMs: now + WINDOW_MS });
    await this.#enter();
    try {
      if (!(await this.#isRight(password))) return 'wrong';
    } finally {
      this.#leave();
    }
    this.#failures.delete(unit);
    return 'right';
  }

  #note(unit: string, failures: { count: number; untilMs: number }): void {
    this.#failures.delete(unit);
    if (this.#failures.size >= PEERS_MAX) this.#makeRoom();
    this.#failures.set(unit, failures);
  }

  /** What has run out goes first, then who guessed least: a crowd must not wipe out the count of one. */
  #makeRoom(): void {
    const now = this.#clock.now();
    let least: { unit: string; count: number } | null = null;
    for (const [unit, { count, untilMs }] of this.#failures) {
      if (untilMs <= now) this.#failures.delete(unit);
      else if (least === null || count < least.count) least = { unit, count };
    }
    if (this.#failures.size >= PEERS_MAX && least !== null) this.#failures.delete(least.unit);
  }

  async #enter(): Promise<void> {
    if (this.#checks < CHECKS_MAX) {
      this.#checks += 1;
      return;
    }
    // The place is handed over by `#leave`, with `#checks` unchanged.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#checks -= 1;
    else next();
  }
}
