/**
 * Composing and signing for the whole appliance: on the calling thread while there is hardly anything to sign, and on a
 * thread of its own from then on, so that signing does not delay everything else and costs less than half. With four
 * cores a second thread helps when the first has a line: one alone is the limit of such a machine.
 *
 * The story of this folder. `flow/deliver` asks a `MessageSigner` for the bytes of one message. `signed-message.ts`
 * composes the message (`mail/compose`) and puts the signature in front (`dkim.ts`, RFC 6376; `rsa.ts`). Once several
 * came at once, or a few a second, the pool sends the work through `signing-link.ts` to `signing-thread.ts`, where `signing-work.ts` does the same with the
 * system's `libcrypto.ts`, which is faster. One for which a text part is to be made of its html always goes there: without
 * a thread it leaves without that part. Large messages have a thread of their own, from the first one on: others would
 * wait there for half a second and more. Nothing here is kept on disk: after a crash the same input gives the same
 * bytes again.
 *
 * Promises signed bytes or a rejection, never unsigned bytes. When the thread dies, the calling thread signs what was
 * under way, and the pool starts another thread at the next load, waiting longer after each death that comes soon
 * (1 s to 1 min). Deaths and restarts are logged, restarts counted. One pool lives on `Context`; several in one
 * process share nothing.
 */
import { availableParallelism } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { contentLength } from '../compose/compose.ts';
import { DkimSigner } from './dkim.ts';
import type { DkimIdentity } from './dkim.ts';
import { writeSigned } from './signed-message.ts';
import type { Content, Signed } from './signed-message.ts';
import { SigningLink, startSigningWorker } from './signing-link.ts';
import type { SignTask } from './signing-link.ts';

/** Messages at once from which on a thread is worth its start. */
const LOAD = 6;
/** One after the other, so many in so long: its library halves what each costs (docs/decisions.md D274). */
const STEADY = { messages: 50, ms: 10_000 };
/** Messages that wait for a thread from which on a second one is worth its start: some milliseconds of signatures. */
const LINE = 16;
/** Cores from which on a second thread takes a processor from nobody. */
const CORES_FOR_TWO = 4;
/** Bytes of content from which on a message is large: it takes its thread 10 ms to a second. */
export const LARGE_FROM = 256 * 1024;
const RESTART_MIN_MS = 1_000;
const RESTART_MAX_MS = 60_000;

export interface SigningParts {
  readonly clock: Pick<Clock, 'steady'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'signingThreadRestarts'>;
}

export class SigningPool {
  readonly #parts: SigningParts;
  readonly #startWorker: () => Worker;
  readonly #mostThreads: number;
  #links: readonly SigningLink[] = [];
  /** The thread that large messages have for themselves. */
  #largeLink: SigningLink | null = null;
  #inFlight = 0;
  /** Messages since `countedFrom`, a steady time. */
  #counted = 0;
  #countedFrom = 0;
  #nextSignerId = 1;
  #deaths = 0;
  /** Dead threads that no other was started for. */
  #unreplaced = 0;
  #restartWaitMs = RESTART_MIN_MS;
  #startedAt = 0;
  /** Before this time no thread is started. */
  #restartAt = 0;
  #isStopped = false;

  /** `cores`: those that this process may use. */
  constructor(
    parts: SigningParts,
    startWorker = startSigningWorker,
    cores: number = availableParallelism(),
  ) {
    this.#parts = parts;
    this.#startWorker = startWorker;
    this.#mostThreads = cores >= CORES_FOR_TWO ? 2 : 1;
  }

  /** Throws when the identity's key is no RSA key, or its names cannot stand in a signature. */
  signer(identity: DkimIdentity): MessageSigner {
    return new MessageSigner(this, identity, this.#nextSignerId++);
  }

  /** Signs one message, here or on a thread. For `MessageSigner`. */
  async run(task: SignTask): Promise<Signed> {
    this.#inFlight += 1;
    try {
      const link = isLarge(task.content) ? this.#forLarge() : this.#linkFor(task.content);
      return link === null ? await task.bySelf() : await link.sign(task);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Ends the threads. What is still asked is signed on the calling thread. */
  stop(): void {
    this.#isStopped = true;
    for (const link of this.#links) link.stop();
    this.#links = [];
    this.#largeLink?.stop();
    this.#largeLink = null;
  }

  /** Null: the calling thread signs. */
  #forLarge(): SigningLink | null {
    this.#largeLink ??= this.#open(() => (this.#largeLink = null));
    return this.#largeLink;
  }

  /** The same for one that is not large. */
  #linkFor(content: Content): SigningLink | null {
    const needsThread = content.kind === 'parts' && content.isTextWanted === true;
    if (this.#links.length === 0 && (needsThread || this.#isBusy())) this.#start();
    const link = this.#leastBusy(needsThread);
    if (link !== null && link.waiting >= LINE && this.#links.length < this.#mostThreads) {
      this.#start();
    }
    return link;
  }

  /** The thread with the fewest messages, the first of equals; one that only begins where the work must go to a thread. */
  #leastBusy(needsThread: boolean): SigningLink | null {
    let least: SigningLink | null = null;
    for (const link of this.#links) {
      if (!needsThread && !link.isUsable) continue;
      if (least === null || link.waiting < least.waiting) least = link;
    }
    return least;
  }

  /** Counts a message while there is no thread. */
  #isBusy(): boolean {
    const now = this.#parts.clock.steady();
    if (now - this.#countedFrom > STEADY.ms) {
      this.#countedFrom = now;
      this.#counted = 0;
    }
    this.#counted += 1;
    return this.#inFlight >= LOAD || this.#counted >= STEADY.messages;
  }

  /** Another thread for messages that are not large, if one may be started now. */
  #start(): void {
    const link = this.#open((dead) => {
      this.#links = this.#links.filter((other) => other !== dead);
    });
    if (link !== null) this.#links = [...this.#links, link];
  }

  /** A new thread; null soon after a death, and once the pool has stopped. `leave` takes a dead one out of use. */
  #open(leave: (dead: SigningLink) => void): SigningLink | null {
    const { clock, log, metrics } = this.#parts;
    const now = clock.steady();
    if (this.#isStopped || now < this.#restartAt) return null;
    this.#startedAt = now;
    const link: SigningLink = new SigningLink(this.#startWorker(), (cause, unfinished) => {
      leave(link);
      this.#afterDeath(cause, unfinished);
    });
    if (this.#unreplaced > 0) {
      this.#unreplaced -= 1;
      metrics.signingThreadRestarts.inc();
      log.info('signing_thread_restarted', { deaths: this.#deaths });
    }
    return link;
  }

  #afterDeath(cause: string, unfinished: number): void {
    const { clock, log } = this.#parts;
    const now = clock.steady();
    this.#deaths += 1;
    this.#unreplaced += 1;
    const livedMs = now - this.#startedAt;
    this.#restartWaitMs =
      this.#deaths === 1 || livedMs >= RESTART_MAX_MS
        ? RESTART_MIN_MS
        : Math.min(2 * this.#restartWaitMs, RESTART_MAX_MS);
    this.#restartAt = now + this.#restartWaitMs;
    log.warn('signing_thread_died', {
      cause,
      signed_by_main_thread: unfinished,
      hint: 'What it had is signed on the main thread, and so is all mail while there is no signing thread. If this repeats, look for a lack of memory.',
    });
  }
}

/** Whether others would wait too long behind it. */
function isLarge(content: Content): boolean {
  const length = content.kind === 'whole' ? content.bytes.length : contentLength(content.input);
  return length >= LARGE_FROM;
}

/** Composes and signs for one domain; keep it, since reading the key costs more than using it. */
export class MessageSigner {
  readonly #pool: SigningPool;
  readonly #identity: DkimIdentity;
  readonly #signer: DkimSigner;
  readonly #id: number;

  /** Made by `SigningPool.signer`. */
  constructor(pool: SigningPool, identity: DkimIdentity, id: number) {
    this.#pool = pool;
    this.#identity = identity;
    this.#signer = new DkimSigner(identity);
    this.#id = id;
  }

  /** The whole message, DKIM-Signature first. Rejects with `UncomposableError` for what can never be composed. */
  sign(content: Content): Promise<Signed> {
    return this.#pool.run({
      signerId: this.#id,
      identity: this.#identity,
      content,
      bySelf: () => writeSigned(content, this.#signer),
    });
  }
}
