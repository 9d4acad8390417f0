/**
 * Open SMTP sessions, kept for the next message to the same address, whatever its domain.
 *
 * Promises that a session carries one message at a time and only so many, and is closed soon after its last one. An
 * address that could not be reached is not dialled again for a while: whoever asks for it gets the same failure at once.
 * Our own trouble (no descriptors, no such source address) never counts against the address.
 */
import type { Clock } from '../../base/clock.ts';
import { PassingMap } from '../../base/passing-map.ts';
import { openSession } from '../../wire/smtp/client.ts';
import type { SessionResult, SmtpSession } from '../../wire/smtp/client.ts';
import type { Dial } from './host-address.ts';

/** Receivers dislike idle connections; Postfix keeps them 2 s. */
const IDLE_MS = 2_000;
/** How long an unreachable address is not dialled again: doubles with each failure in a row. */
const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 5 * 60_000;
/** Addresses remembered as unreachable. */
const KEPT_BACKOFFS = 10_000;

export type Failure = Extract<SessionResult, { kind: 'failed' }>;

interface Backoff {
  untilMs: number;
  failures: number;
  failure: Failure;
}

export type Acquired = { kind: 'ready'; session: SmtpSession; isReused: boolean } | Failure;

interface Idle {
  session: SmtpSession;
  dial: Dial;
  cancel: () => void;
}

export class Sessions {
  readonly #clock: Clock;
  readonly #idle = new PassingMap<string, Idle[]>();
  /** How every open session, idle or in use, was dialled. */
  readonly #open = new WeakMap<SmtpSession, Dial>();
  /** Open sessions of each peer that has any. */
  readonly #serving = new Map<string, number>();
  readonly #backoffs = new Map<string, Backoff>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether an idle session that was dialled in exactly this way waits. */
  hasIdle(dial: Dial): boolean {
    return this.#idle.get(dial.key)?.some((idle) => isSameCheck(idle.dial, dial)) === true;
  }

  /** An idle session, or a new one. Give it back with `release`. */
  async acquire(dial: Dial, mayReuse = true): Promise<Acquired> {
    if (mayReuse) {
      for (let idle = this.#takeIdle(dial); idle !== null; idle = this.#takeIdle(dial)) {
        if (idle.isUsable) return { kind: 'ready', session: idle, isReused: true };
        this.#drop(idle);
      }
    }
    const { peer } = dial;
    const backoff = this.#backoffs.get(peer);
    if (backoff !== undefined && this.#clock.steady() < backoff.untilMs) return backoff.failure;
    const result = await openSession(dial.options);
    if (result.kind === 'failed') {
      const isSilent = result.stage === 'connect' && !result.isLocal;
      // Of dials at once that all failed, one counts.
      const isNews = isSilent && this.#backoffs.get(peer) === backoff;
      if (isNews && !this.#isServing(peer)) this.#remember(peer, result, backoff);
      return result;
    }
    this.#backoffs.delete(peer);
    this.#open.set(result.session, dial);
    this.#serving.set(peer, (this.#serving.get(peer) ?? 0) + 1);
    return { ...result, isReused: false };
  }

  /** Takes a session back: keeps it for a moment when it may carry more (of `messagesMax`), else closes it. */
  release(session: SmtpSession, messagesMax: number): void {
    const dial = this.#open.get(session);
    if (dial === undefined || !session.isUsable) {
      this.#drop(session);
      return;
    }
    if (this.#isStopped || session.sent >= messagesMax) {
      this.#forget(session);
      void session.quit();
      return;
    }
    const close = (): void => {
      const list = this.#idle.get(dial.key) ?? [];
      const at = list.findIndex((idle) => idle.session === session);
      if (at < 0) return;
      list.splice(at, 1);
      if (list.length === 0) this.#idle.take(dial.key);
      this.#forget(session);
      void session.quit();
    };
    const cancel = this.#clock.after(IDLE_MS, close);
    const list = this.#idle.get(dial.key);
    if (list === undefined) this.#idle.set(dial.key, [{ session, dial, cancel }]);
    else list.push({ session, dial, cancel });
  }

  /** Whether any address is not dialled now. */
  get hasBackoffs(): boolean {
    return this.#backoffs.size > 0;
  }

  /** The failure for which the address is not dialled now, and until when; null when it may be dialled. */
  backoffOf({ peer }: Dial): { untilMs: number; failure: Failure } | null {
    const backoff = this.#backoffs.get(peer);
    return backoff !== undefined && this.#clock.steady() < backoff.untilMs ? backoff : null;
  }

  /** Forgets which addresses were unreachable: the operator asked for another try. */
  forgetBackoffs(): void {
    this.#backoffs.clear();
  }

  /** Closes what is idle; sessions in use are closed when they are released. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const idle = this.#idle.takeAll().flat();
    await Promise.all(
      idle.map(({ session, cancel }) => {
        cancel();
        this.#forget(session);
        return session.quit();
      }),
    );
  }

  /** A host that refuses one connection while it serves another is busy, not dead. */
  #isServing(peer: string): boolean {
    return this.#serving.has(peer);
  }

  #takeIdle(dial: Dial): SmtpSession | null {
    const list = this.#idle.get(dial.key);
    if (list === undefined) return null;
    const at = list.findLastIndex((idle) => isSameCheck(idle.dial, dial));
    const [found] = at < 0 ? [] : list.splice(at, 1);
    if (list.length === 0) this.#idle.take(dial.key);
    found?.cancel();
    return found?.session ?? null;
  }

  #drop(session: SmtpSession): void {
    this.#forget(session);
    session.destroy();
  }

  /** The session is open no more, or no longer this pool's. */
  #forget(session: SmtpSession): void {
    const peer = this.#open.get(session)?.peer;
    if (peer === undefined) return;
    this.#open.delete(session);
    const left = (this.#serving.get(peer) ?? 0) - 1;
    if (left > 0) this.#serving.set(peer, left);
    else this.#serving.delete(peer);
  }

  #remember(peer: string, failure: Failure, before: Backoff | undefined): void {
    const failures = (before?.failures ?? 0) + 1;
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), LONGEST_BACKOFF_MS);
    if (this.#backoffs.size >= KEPT_BACKOFFS) this.#backoffs.clear();
    this.#backoffs.set(peer, { untilMs: this.#clock.steady() + backoffMs, failures, failure });
  }
}

/**
 * RFC 7672 section 3.2.2: under a trust anchor a certificate may name the recipient's domain in place of the host, so
 * that one domain's check says nothing of another's. A session is reused only under the very check it passed.
 */
function isSameCheck(one: Dial, other: Dial): boolean {
  return one.options.tls.checkPeer === other.options.tls.checkPeer;
}
