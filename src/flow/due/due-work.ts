/**
 * The engine for due work: recipients of the queue and webhook calls are the same kind of thing to it. The story of this
 * folder begins here.
 *
 * A row is due at a time. A look (`looks.ts`) brings references of due rows into memory, where the owner of the work
 * keeps them in its own lines and order; an owner may also add what it has just committed itself. A wake takes from the
 * lines what may begin now (`pick`), and the store marks it as begun (`begin`): under a lease of this process, with a
 * later due time. Only then it is run. `ended` frees its slot and wakes again; `drain` ends it all.
 *
 * Promises that the wakes of one round of the event loop make one claim; that a crash costs one step of the schedule and
 * never makes a hot loop, because the later due time was committed before; that a claim which returns fewer rows than
 * asked (ended meanwhile, or taken by another node) releases the rest and runs what it got; that a full disk stops
 * claims for a while; and that any other fault is reported and the rows are looked for again. Nothing is allocated for a
 * row beyond its claim: `run` reports its own end.
 */
import type { Clock } from '../../base/clock.ts';
import { StoreUnwritableError } from '../../store/store.ts';
import { Looks } from './looks.ts';

/** The pause of claims, and of repeated writes, after the store refused one because the disk is full. */
export const FULL_PAUSE_MS = 2_000;
/** The pause before rows are looked for again whose claim failed for another reason. */
const FAULT_PAUSE_MS = 5_000;

/** The mark on a row while this process works on it: no other owner takes it before `leaseUntil`. */
export interface Lease {
  owner: string;
  /** Epoch milliseconds. */
  leaseUntil: number;
}

export type DueFault = 'look' | 'begin' | 'full';

export interface DueWorkOptions<Claim, Row extends { id: string }> {
  clock: Clock;
  /** Names this process on the rows it has claimed; different for every start. */
  owner: string;
  /** How long a claim is ours, in milliseconds: longer than the longest run. */
  leaseMs: number;
  /** The shortest pause between two looks, in milliseconds. */
  shortestLookMs: number;
  /** Others may make rows due: the longest pause between two looks, in milliseconds. Default: as `Looks`. */
  longestLookMs?: number | undefined;
  /** How many times as long as a look took there is none after it; default: as `Looks`. */
  rest?: number;
  /** Whether what this process owns is its own: while it is not, nothing is looked for and nothing begun. */
  isCurrent: () => boolean;
  /** Brings what is due into memory; see `Looks`. */
  look: () => Promise<number | null>;
  /** Takes from memory what may begin now, to be marked as begun in the store. */
  pick: (now: number) => Claim[];
  idOf: (claim: Claim) => string;
  /** Marks rows as begun, in one commit. Returns those that are ours now. */
  begin: (claims: readonly Claim[], lease: Lease, now: number) => Promise<readonly Row[]>;
  /** Works on a row that is ours. Must not throw, and must call `ended` once, whatever comes of it. */
  run: (claim: Claim, row: Row) => void;
  /** The claim is not ours: it never runs. */
  release: (claim: Claim) => void;
  /** Released claims are in memory no more, and still due: the next look must find them. */
  forgotten: () => void;
  /** `full`: reported once for each pause. */
  failed: (fault: DueFault, error: unknown) => void;
}

export class DueWork<Claim, Row extends { id: string }> {
  readonly #options: DueWorkOptions<Claim, Row>;
  readonly #looks: Looks;
  #isRunning = false;
  #isWakeDue = false;
  #fullUntil = 0;
  #isPauseArmed = false;
  /** Claims that failed and keep their slots for a moment: each releases its own. */
  readonly #failedClaims = new Set<() => void>();
  #inFlight = 0;
  #drained: (() => void) | null = null;

  constructor(options: DueWorkOptions<Claim, Row>) {
    this.#options = options;
    const { clock, shortestLookMs: shortestMs, longestLookMs: longestMs, rest, look } = options;
    this.#looks = new Looks({
      clock,
      shortestMs,
      longestMs,
      rest,
      look: async () => (options.isCurrent() ? look() : null),
      failed: (error) => this.#lookFailed(error),
    });
  }

  get owner(): string {
    return this.#options.owner;
  }

  /** Whether work is begun: false before `start` and from `drain` on. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Claimed and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  start(): void {
    this.#isRunning = true;
    this.#looks.start();
  }

  /** Begins nothing more; resolves when the look and all work under way have ended. */
  async drain(): Promise<void> {
    this.#isRunning = false;
    // First: what is released asks for a look.
    const stopped = this.#looks.stop();
    for (const release of this.#failedClaims) release();
    await stopped;
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => (this.#drained = resolve));
  }

  /** There may be something to begin: claims in this round of the event loop, once for all wakes of it. */
  wake(): void {
    if (this.#isWakeDue || !this.#isRunning) return;
    this.#isWakeDue = true;
    setImmediate(() => {
      this.#isWakeDue = false;
      this.#claim();
    });
  }

  /** The store has more than the lines show: looks now. */
  lookSoon(): void {
    this.#looks.soon();
  }

  /** A row is due at `atMs` (epoch milliseconds): looks then, if not earlier. */
  lookBy(atMs: number): void {
    this.#looks.by(atMs);
  }

  /** Runs a row whose beginning the owner has committed itself. Call it within `pick`. */
  runBegun(claim: Claim, row: Row): void {
    this.#inFlight += 1;
    this.#options.run(claim, row);
  }

  /** A run has ended. */
  ended(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0 && !this.#isRunning) this.#drained?.();
    this.wake();
  }

  /** A write was refused because the disk is full: nothing is claimed for a while. */
  pauseForFullDisk(error: StoreUnwritableError): void {
    const { clock, failed } = this.#options;
    const now = clock.steady();
    if (now >= this.#fullUntil) failed('full', error);
    this.#fullUntil = now + FULL_PAUSE_MS;
    this.#armPause();
  }

  /** A look may write too: what it finds may have to be taken. */
  #lookFailed(error: unknown): void {
    if (error instanceof StoreUnwritableError) this.pauseForFullDisk(error);
    else this.#options.failed('look', error);
  }

  #armPause(): void {
    if (this.#isPauseArmed) return;
    this.#isPauseArmed = true;
    const { clock } = this.#options;
    clock.after(FULL_PAUSE_MS, () => {
      this.#isPauseArmed = false;
      if (clock.steady() < this.#fullUntil) {
        this.#armPause();
        return;
      }
      this.#looks.soon();
      this.wake();
    });
  }

  #claim(): void {
    const { clock, pick, isCurrent } = this.#options;
    const now = clock.steady();
    if (!this.#isRunning || now < this.#fullUntil || !isCurrent()) return;
    const claims = pick(now);
    if (claims.length === 0) return;
    this.#inFlight += claims.length;
    void this.#begin(claims, now);
  }

  async #begin(claims: readonly Claim[], now: number): Promise<void> {
    const { owner, leaseMs, idOf, begin, run } = this.#options;
    const ours = new Map<string, Row>();
    try {
      const rows = await begin(claims, { owner, leaseUntil: now + leaseMs }, now);
      for (const row of rows) ours.set(row.id, row);
    } catch (error) {
      this.#claimFailed(claims, error);
      return;
    }
    for (const claim of claims) {
      const row = ours.get(idOf(claim));
      if (row === undefined) this.#release(claim);
      else run(claim, row);
    }
  }

  #claimFailed(claims: readonly Claim[], error: unknown): void {
    const { clock, failed, forgotten } = this.#options;
    const release = (): void => {
      if (!this.#failedClaims.delete(release)) return;
      cancel();
      for (const claim of claims) this.#release(claim);
      forgotten();
      this.#looks.soon();
    };
    let cancel = (): void => undefined;
    this.#failedClaims.add(release);
    if (error instanceof StoreUnwritableError) {
      this.pauseForFullDisk(error);
      release();
      return;
    }
    failed('begin', error);
    // Until then the claims keep their slots: released at once they would be found due, and claimed, at once.
    if (this.#isRunning) cancel = clock.after(FAULT_PAUSE_MS, release);
    else release();
  }

  #release(claim: Claim): void {
    this.#options.release(claim);
    this.ended();
  }
}
