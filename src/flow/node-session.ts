/**
 * This server's session among those that share its store: kept alive by beats, and asked before mail leaves.
 *
 * Promises that `isCurrent` is false before anybody else may take what this server owns: it goes by when the last answered
 * beat was sent, by steady time and by the wall clock, whichever leaves less (a machine that sleeps stops the one, an
 * operator may set the other). Beats go on while the store is away; a session that nobody has ended lives on. One that was
 * ended never does: it is logged and `ended` is called, which ends the process. A server that was current for
 * `REVIVAL_SECONDS` ends the sessions of those that are lost. On a store that one process has alone there is no session.
 */
import { aheadMs } from '../base/clock-difference.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { LEASE_SECONDS, REVIVAL_SECONDS } from '../store/nodes.ts';
import type { Beat, NewSession, NodeReport, Nodes } from '../store/nodes.ts';
import { StoreUnwritableError } from '../store/store.ts';

/** From one beat to the next; sooner after one that failed. */
const BEAT_MS = 3_000;
const BEAT_AGAIN_MS = 500;
/** How long mail may leave after a beat was sent: the store's lease less what clocks may differ in running. */
const CURRENT_MS = (LEASE_SECONDS - 3) * 1_000;
/** A load balancer that asks `/ready` every second, and believes the second answer, has noticed by then. */
const LEAVE_MS = 3_000;
const LONGEST_LOOK_MS = 1_000;
const REVIVAL_MS = REVIVAL_SECONDS * 1_000;

/** Whether what this process owns is its own for sure: always where it has the store alone. */
export function isCurrent({ node }: { readonly node: NodeSession | null }): boolean {
  return node === null || node.isCurrent;
}

/** Among how many servers a limit is divided that holds for all together: those that may be sending, this one among them. */
export function sendingNodes({ node }: { readonly node: NodeSession | null }): number {
  return node === null ? 1 : node.live;
}

/** The longest pause between looks at the store: others make rows due there. Undefined: nobody does. */
export function longestLookMs({ node }: { readonly node: NodeSession | null }): number | undefined {
  return node === null ? undefined : LONGEST_LOOK_MS;
}

export interface NodeSessionOptions {
  nodes: Nodes;
  clock: Clock;
  log: Log;
  /** Others have ended the session: what this process owned is theirs. */
  ended: () => void;
}

/** What a server is at, for operators. */
type Work = Pick<NodeReport, 'taken' | 'inDelivery'>;

export class NodeSession {
  /** The owner of what it takes. */
  readonly id: string;
  /** What operators call this node. */
  readonly name: string;
  readonly #options: NodeSessionOptions;
  /** Until when mail may leave, by each clock. */
  #until = { steady: -Infinity, wall: -Infinity };
  /** Current without a gap since then, in steady time; null: it is not. */
  #currentSince: number | null = null;
  #endings = '';
  #live = 1;
  #isWarned = false;
  /** The last beat got no answer. */
  #isUnheard = false;
  #isLeaving = false;
  #isDraining = false;
  #drain: () => void = () => undefined;
  #work: (() => Work) | null = null;
  /** Milliseconds; null: no beat was answered yet. */
  #clockAheadMs: number | null = null;
  #isOver = false;
  #cancel: () => void = () => undefined;
  #beating: Promise<void> | null = null;
  #reaping: Promise<void> | null = null;
  readonly #listeners: (() => void)[] = [];
  readonly #liveListeners: (() => void)[] = [];

  private constructor({ id, name }: NewSession, options: NodeSessionOptions) {
    this.id = id;
    this.name = name;
    this.#options = options;
  }

  /** Begins the session; fails as the store does. */
  static async begin(session: NewSession, options: NodeSessionOptions): Promise<NodeSession> {
    await options.nodes.begin(session);
    const begun = new NodeSession(session, options);
    await begun.#beatNow();
    return begun;
  }

  /** Whether what this server owns is its own for sure. */
  get isCurrent(): boolean {
    const { clock } = this.#options;
    return clock.steady() < this.#until.steady && clock.now() < this.#until.wall;
  }

  /** Servers that may be sending, this one among them, as the last answered beat found. */
  get live(): number {
    return this.#live;
  }

  /** Why a load balancer should send nothing here; null: it may. */
  get notReady(): 'leaving' | 'database_away' | null {
    if (this.#isLeaving) return 'leaving';
    return this.isCurrent && !this.#isUnheard ? null : 'database_away';
  }

  /** Says that this server is about to stop, and waits until load balancers have noticed. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await new Promise<void>((resolve) => this.#options.clock.after(LEAVE_MS, resolve));
  }

  /** Whether it takes nothing more, because an operator wants it to end. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * `drain` is called once when an operator has asked for it, and load balancers have noticed: from then on nothing is
   * accepted. It should end what is under way, and then the session.
   */
  onDrain(drain: () => void): void {
    this.#drain = drain;
  }

  /** `work` is asked for each beat, which tells the others. */
  onBeat(work: () => Work): void {
    this.#work = work;
  }

  async #leaveForGood(): Promise<void> {
    this.#options.log.info('node_draining', { session: this.id });
    await this.leave();
    this.#isDraining = true;
    this.#drain();
  }

  /** `listener` hears when `live` has changed. */
  onLive(listener: () => void): void {
    this.#liveListeners.push(listener);
  }

  /** `listener` hears when there may be due work that nobody has in memory: a session ended, or this one lives on. */
  onFreed(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Ends it and frees what it owns: call it last. Where the store is away, others will end it. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#cancel();
    await Promise.all([this.#beating, this.#reaping]);
    this.#until = { steady: -Infinity, wall: -Infinity };
    try {
      await this.#options.nodes.end();
    } catch (error) {
      this.#options.log.warn('session_not_ended', {
        error,
        hint: 'The database could not be reached. Another node, or the next start, frees what this one had taken.',
      });
    }
  }

  #arm(waitMs: number): void {
    if (!this.#isOver) this.#cancel = this.#options.clock.after(waitMs, () => void this.#beatNow());
  }

  #beatNow(): Promise<void> {
    this.#beating ??= this.#beat().then((waitMs) => {
      this.#beating = null;
      this.#arm(waitMs);
    });
    return this.#beating;
  }

  /** Returns the wait until the next one. */
  async #beat(): Promise<number> {
    const { clock, nodes } = this.#options;
    const sent = { steady: clock.steady(), wall: clock.now() };
    try {
      const beat = await nodes.beat(this.#report());
      const answered = { askedAt: sent.wall, answeredAt: clock.now(), said: beat.at };
      this.#clockAheadMs = 0 - Math.round(aheadMs(answered));
      this.#note(beat, sent);
      this.#isUnheard = false;
      return BEAT_MS;
    } catch {
      this.#isUnheard = true;
      // The store says why to those whose work it refuses.
      this.#warn();
      return BEAT_AGAIN_MS;
    }
  }

  #report(): NodeReport | null {
    if (this.#work === null || this.#clockAheadMs === null) return null;
    return { ...this.#work(), clockAheadMs: this.#clockAheadMs };
  }

  #note(
    { isLive, endings, isDrainAsked, live }: Beat,
    sent: { steady: number; wall: number },
  ): void {
    const { clock, log, ended } = this.#options;
    if (this.#isOver) return;
    if (!isLive) {
      this.#isOver = true;
      log.error('session_ended', {
        session: this.id,
        hint: 'This server could not reach the database for so long that others have taken its mail over. It ends, and starts anew with a new session.',
      });
      ended();
      return;
    }
    const wasCurrent = this.isCurrent;
    this.#until = { steady: sent.steady + CURRENT_MS, wall: sent.wall + CURRENT_MS };
    // A wall clock that was set forth and back again has ended the lease for a moment, and `wasCurrent` does not tell.
    if (!this.isCurrent) this.#currentSince = null;
    else if (!wasCurrent) this.#currentSince = clock.steady();
    else this.#currentSince ??= clock.steady();
    if (this.#isWarned) log.info('lease_regained', { session: this.id });
    this.#isWarned = false;
    const isOther = live !== this.#live;
    this.#live = live;
    if (isOther) for (const listener of this.#liveListeners) listener();
    const isNews = !wasCurrent || endings !== this.#endings;
    this.#endings = endings;
    if (isNews) this.#tell();
    if (isDrainAsked && !this.#isLeaving) void this.#leaveForGood();
    if (clock.steady() - (this.#currentSince ?? Infinity) >= REVIVAL_MS) this.#reap();
  }

  #warn(): void {
    if (this.isCurrent || this.#isWarned || this.#isOver) return;
    this.#isWarned = true;
    this.#currentSince = null;
    this.#options.log.warn('lease_over', {
      session: this.id,
      hint: 'The database did not answer for 12 seconds: no mail leaves until it does. Look at its server and the network to it.',
    });
  }

  #reap(): void {
    this.#reaping ??= this.#endLost().finally(() => (this.#reaping = null));
  }

  async #endLost(): Promise<void> {
    const { nodes, log } = this.#options;
    try {
      const lost = await nodes.endLost();
      if (lost.length === 0) return;
      log.warn('nodes_lost', {
        sessions: lost,
        hint: 'These servers have not been heard of for 45 seconds. What they had taken is free, and is sent by the others.',
      });
      this.#tell();
    } catch (error) {
      if (error instanceof StoreUnwritableError) return;
      log.error('nodes_lost_failed', {
        error,
        hint: 'It is tried again in 3 seconds. Until then the mail of lost servers waits. Please report it.',
      });
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
