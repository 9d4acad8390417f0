/**
 * Open SMTP sessions, kept for the next message to the same address, whatever its domain.
 *
 * Promises that a session carries one message at a time and only so many, and is closed soon after its last one. An address that could not be reached is not dialled again for a
 * while; who asks meanwhile gets the same answer at once. Our own trouble is never held against it.
 */
import type { Clock } from '../base/clock.ts';
import { openSession } from '../wire/smtp-client.ts';
import type { SessionOptions, SessionResult, SmtpSession } from '../wire/smtp-client.ts';

/** Receivers dislike idle connections; Postfix keeps them 2 s. */
const IDLE_MS = 2_000;
/** How long an unreachable address is not dialled again: doubles with each failure in a row. */
const FIRST_REST_MS = 10_000;
const LONGEST_REST_MS = 5 * 60_000;
/** Addresses remembered as unreachable. */
const KEPT_RESTS = 10_000;

export type Failure = Extract<SessionResult, { kind: 'failed' }>;

interface Rest {
  untilMs: number;
  failures: number;
  failure: Failure;
}

export type Acquired = { kind: 'ready'; session: SmtpSession; isReused: boolean } | Failure;

interface Idle {
  session: SmtpSession;
  cancel: () => void;
}

export class Sessions {
  readonly #clock: Clock;
  readonly #idle = new Map<string, Idle[]>();
  readonly #keys = new Map<SmtpSession, string>();
  readonly #rests = new Map<string, Rest>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether an idle session with exactly these options waits. */
  hasIdle(options: SessionOptions): boolean {
    return (this.#idle.get(keyOf(options))?.length ?? 0) > 0;
  }

  /** An idle session, or a new one. Give it back with `release`. */
  async acquire(options: SessionOptions, mayReuse = true): Promise<Acquired> {
    const key = keyOf(options);
    if (mayReuse) {
      for (let idle = this.#takeIdle(key); idle !== null; idle = this.#takeIdle(key)) {
        if (idle.isUsable) return { kind: 'ready', session: idle, isReused: true };
        this.#drop(idle);
      }
    }
    const place = `${options.address} ${options.port}`;
    const rest = this.#rests.get(place);
    if (rest !== undefined && this.#clock.now() < rest.untilMs) return rest.failure;
    const result = await openSession(options);
    if (result.kind === 'failed') {
      const isSilent = result.stage === 'connect' && !result.isLocal;
      // Of dials at once that all failed, one counts.
      const isNews = isSilent && this.#rests.get(place) === rest;
      if (isNews && !this.#isServing(place)) this.#remember(place, result, rest);
      return result;
    }
    this.#rests.delete(place);
    this.#keys.set(result.session, key);
    return { ...result, isReused: false };
  }

  /** Takes a session back: keeps it for a moment when it may carry more (of `messagesMax`), else closes it. */
  release(session: SmtpSession, messagesMax: number): void {
    const key = this.#keys.get(session);
    if (key === undefined || !session.isUsable) {
      this.#drop(session);
      return;
    }
    if (this.#isStopped || session.sent >= messagesMax) {
      this.#keys.delete(session);
      void session.quit();
      return;
    }
    const close = (): void => {
      const list = this.#idle.get(key) ?? [];
      const at = list.findIndex((idle) => idle.session === session);
      if (at < 0) return;
      list.splice(at, 1);
      if (list.length === 0) this.#idle.delete(key);
      this.#keys.delete(session);
      void session.quit();
    };
    const cancel = this.#clock.at(this.#clock.now() + IDLE_MS, close);
    const list = this.#idle.get(key);
    if (list === undefined) this.#idle.set(key, [{ session, cancel }]);
    else list.push({ session, cancel });
  }

  /** Whether any address is not dialled now. */
  get hasRests(): boolean {
    return this.#rests.size > 0;
  }

  /** The failure for which the address is not dialled now, and until when; null when it may be. */
  restOf({ address, port }: SessionOptions): { untilMs: number; failure: Failure } | null {
    const rest = this.#rests.get(`${address} ${port}`);
    return rest !== undefined && this.#clock.now() < rest.untilMs ? rest : null;
  }

  /** Forgets which addresses were unreachable: the operator asked for another try. */
  forgetRests(): void {
    this.#rests.clear();
  }

  /** Closes what is idle; sessions in use are closed when they come back. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(
      idle.map(({ session, cancel }) => {
        cancel();
        this.#keys.delete(session);
        return session.quit();
      }),
    );
  }

  /** A host that refuses one connection while it serves another is busy, not dead. */
  #isServing(place: string): boolean {
    for (const key of this.#keys.values()) if (key.startsWith(`${place} `)) return true;
    return false;
  }

  #takeIdle(key: string): SmtpSession | null {
    const list = this.#idle.get(key);
    const last = list?.pop();
    if (list?.length === 0) this.#idle.delete(key);
    last?.cancel();
    return last?.session ?? null;
  }

  #drop(session: SmtpSession): void {
    this.#keys.delete(session);
    session.destroy();
  }

  #remember(place: string, failure: Failure, before: Rest | undefined): void {
    const failures = (before?.failures ?? 0) + 1;
    const restMs = Math.min(FIRST_REST_MS * 2 ** (failures - 1), LONGEST_REST_MS);
    if (this.#rests.size >= KEPT_RESTS) this.#rests.clear();
    this.#rests.set(place, { untilMs: this.#clock.now() + restMs, failures, failure });
  }
}

type CheckPeer = NonNullable<SessionOptions['tls']['checkPeer']>;

const keys = new WeakMap<SessionOptions, string>();
const checks = new WeakMap<CheckPeer, number>();
let lastCheck = 0;

/** Everything that makes two sessions interchangeable, in one text; made once for each object. */
function keyOf(options: SessionOptions): string {
  const known = keys.get(options);
  if (known !== undefined) return known;
  const { address, port, localAddress, serverName, tls, auth } = options;
  const policy = [
    tls.mode,
    tls.verify ? serverName : '',
    tls.checkPeer === undefined ? '' : `${serverName} ${numberOf(tls.checkPeer)}`,
  ];
  const login = auth === null ? [] : [auth.username, auth.password];
  const key = `${address} ${port} ${JSON.stringify([localAddress, ...policy, ...login])}`;
  keys.set(options, key);
  return key;
}

/**
 * RFC 7672 section 3.2.2: under a trust anchor a certificate may name the recipient's domain in place of
 * the host, so that one domain's check says nothing of another's. Each check is a session's own.
 */
function numberOf(check: CheckPeer): number {
  const known = checks.get(check);
  if (known !== undefined) return known;
  lastCheck += 1;
  checks.set(check, lastCheck);
  return lastCheck;
}
