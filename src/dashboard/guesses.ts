/**
 * Limits guesses of operators' passwords: per peer, and how many are checked at once.
 *
 * Promises that a peer that has used up its guesses gets no more by guessing in parallel, from other addresses of its
 * IPv6 network, or among many other peers; that checking never uses more memory or processor time than `CHECKS_MAX`
 * checks do; and that whoever has guessed wrong stands behind whoever has not, and behind a peer that has signed in
 * before, so that a crowd of guessers keeps nobody out. Right passwords are not counted. Rejects when the check rejects.
 */
import type { Clock } from '../base/clock.ts';
import { addressUnit } from '../wire/addresses/address-unit.ts';

/** Wrong passwords allowed to one peer within the window. */
const FAILURES_MAX = 10;
const WINDOW_MS = 60_000;
const PEERS_MAX = 1_000;
/** Each takes 64 MiB (Argon2id with Bun's settings) and about 0.1 s of one core. */
const CHECKS_MAX = 2;
/** Checks that may wait, so that an operator who signs in during an attack waits a moment and is not refused. */
const WAITING_MAX = 16;
const KNOWN_MAX = 100;

/** `slow_down`: this peer has guessed too often; `busy`: too many guesses are waiting. */
export type Guess = 'right' | 'wrong' | 'slow_down' | 'busy';

interface Guesser {
  /** How often the peer has guessed before; less than 0 for one that has signed in. The least goes first. */
  rank: number;
  /** True when a slot is free, false when another took this position. */
  settle: (isNext: boolean) => void;
}

/** Checks guesses within the limits above. One per appliance. */
export class Guesses<G = string> {
  readonly #clock: Clock;
  readonly #isRight: (guess: G) => Promise<boolean>;
  /** In the order of their last guess, the oldest first. */
  readonly #failures = new Map<string, { count: number; untilMs: number }>();
  /** Peers that have signed in since the start, the latest last. */
  readonly #known = new Set<string>();
  readonly #waiting: Guesser[] = [];
  #checks = 0;

  constructor(clock: Clock, isRight: (guess: G) => Promise<boolean>) {
    this.#clock = clock;
    this.#isRight = isRight;
  }

  /** Checks one guess from the address `peer`. */
  async check(guess: G, peer: string): Promise<Guess> {
    const unit = addressUnit(peer);
    const now = this.#clock.steady();
    const failures = this.#failures.get(unit);
    const before = failures !== undefined && failures.untilMs > now ? failures.count : 0;
    if (before >= FAILURES_MAX) return 'slow_down';
    const rank = this.#known.has(unit) ? -1 : before;
    if (!this.#mayEnter(rank)) return 'busy';
    // Counted before it is checked: parallel guesses are limited like those made one by one.
    this.#note(unit, { count: before + 1, untilMs: now + WINDOW_MS });
    if (!(await this.#enter(rank))) {
      this.#uncount(unit);
      return 'busy';
    }
    try {
      if (!(await this.#isRight(guess))) return 'wrong';
    } finally {
      this.#leave();
    }
    this.#failures.delete(unit);
    this.#know(unit);
    return 'right';
  }

  /** Whether there is a free slot or position, or one whose peer has guessed more often; that one is sent away. */
  #mayEnter(rank: number): boolean {
    if (this.#checks < CHECKS_MAX || this.#waiting.length < WAITING_MAX) return true;
    const last = this.#waiting.findLastIndex(
      (one) => one.rank === Math.max(...this.#waiting.map((other) => other.rank)),
    );
    const worst = this.#waiting[last];
    if (worst === undefined || worst.rank <= rank) return false;
    this.#waiting.splice(last, 1);
    worst.settle(false);
    return true;
  }

  #uncount(unit: string): void {
    const failures = this.#failures.get(unit);
    if (failures !== undefined) failures.count -= 1;
  }

  #know(unit: string): void {
    this.#known.delete(unit);
    this.#known.add(unit);
    const [oldest] = this.#known;
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }

  #note(unit: string, failures: { count: number; untilMs: number }): void {
    this.#failures.delete(unit);
    if (this.#failures.size >= PEERS_MAX) this.#evict();
    this.#failures.set(unit, failures);
  }

  /** Drops expired entries, else the one with the fewest guesses: many peers must not erase the count of one. */
  #evict(): void {
    const now = this.#clock.steady();
    let least: { unit: string; count: number } | null = null;
    for (const [unit, { count, untilMs }] of this.#failures) {
      if (untilMs <= now) this.#failures.delete(unit);
      else if (least === null || count < least.count) least = { unit, count };
    }
    if (this.#failures.size >= PEERS_MAX && least !== null) this.#failures.delete(least.unit);
  }

  async #enter(rank: number): Promise<boolean> {
    if (this.#checks < CHECKS_MAX) {
      this.#checks += 1;
      return true;
    }
    // `#leave` hands its slot over, with `#checks` unchanged.
    return await new Promise<boolean>((settle) => this.#waiting.push({ rank, settle }));
  }

  #leave(): void {
    const least = Math.min(...this.#waiting.map(({ rank }) => rank));
    const at = this.#waiting.findIndex(({ rank }) => rank === least);
    const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) this.#checks -= 1;
    else next.settle(true);
  }
}
