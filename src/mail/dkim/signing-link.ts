/**
 * The main thread's end of one signing thread, from its start to its death.
 *
 * Promises that each request ends once: with the thread's bytes, with its error, or, when the thread has died, by
 * what the caller gave as its own way. Keeps the process alive only while a request waits. Calls `onDeath` once.
 */
import { Packer } from '../../base/packing.ts';
import { PassingMap } from '../../base/passing-map.ts';
import type { DkimIdentity } from './dkim.ts';
import { UncomposableError, takeSigned } from './signed-message.ts';
import type { Content, Signed } from './signed-message.ts';
import type {
  FromSigningThread,
  SignRequest,
  SignResult,
  ToSigningThread,
} from './signing-protocol.ts';

/** Signers that the thread keeps before it is told to forget them all. */
const SIGNERS_MAX = 1_000;

export interface SignTask {
  signerId: number;
  identity: DkimIdentity;
  content: Content;
  /** Signs on the calling thread: for a thread that dies before it has answered. */
  bySelf: () => Promise<Signed>;
}

interface Pending {
  resolve: (signed: Signed) => void;
  reject: (error: Error) => void;
  bySelf: () => Promise<Signed>;
}

/** Starts the thread. */
export function startSigningWorker(): Worker {
  // In the compiled program each thread is an entry point of its own, below the root where this code lies.
  const isCompiled = import.meta.url.startsWith('file:///$bunfs/');
  const path = isCompiled ? './mail/dkim/signing-thread.ts' : './signing-thread.ts';
  return new Worker(new URL(path, import.meta.url).href);
}

export class SigningLink {
  /** Whether the thread has said that it can take requests, and lives. */
  isUsable = false;
  readonly #worker: Worker;
  readonly #onDeath: (cause: string, unfinished: number) => void;
  readonly #pending = new PassingMap<number, Pending>();
  readonly #sentSigners = new Set<number>();
  readonly #packer = new Packer();
  #outbox: SignRequest[] = [];
  #nextTicket = 1;
  #isDead = false;

  constructor(worker: Worker, onDeath: (cause: string, unfinished: number) => void) {
    this.#worker = worker;
    this.#onDeath = onDeath;
    worker.addEventListener('message', ({ data }: MessageEvent<FromSigningThread>) => {
      this.#take(data);
    });
    worker.addEventListener('error', ({ message }) => this.#die(firstLine(message)));
    // Also after an orderly exit, of which no error tells.
    worker.addEventListener('close', () => this.#die('the thread ended'));
    worker.unref();
  }

  /** Requests that the thread has not answered. */
  get waiting(): number {
    return this.#pending.size;
  }

  sign({ signerId, identity, content, bySelf }: SignTask): Promise<Signed> {
    if (this.#isDead) return bySelf();
    if (this.#sentSigners.size >= SIGNERS_MAX && !this.#sentSigners.has(signerId)) this.#forget();
    const isNew = !this.#sentSigners.has(signerId);
    this.#sentSigners.add(signerId);
    const ticket = this.#nextTicket++;
    this.#outbox.push({ ticket, signerId, identity: isNew ? identity : null, content });
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
    // Referenced while a request waits: otherwise the event loop would spin, or the process end.
    if (this.#pending.size === 0) this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#pending.set(ticket, { resolve, reject, bySelf });
    });
  }

  /** Ends the thread; what waits is signed by its own way. */
  stop(): void {
    this.#die(null);
    this.#worker.terminate();
  }

  /** One message for all that came in one round of the loop: a message between threads costs more than they do. */
  #flush(): void {
    if (this.#isDead || this.#outbox.length === 0) return;
    const requests = this.#outbox;
    this.#outbox = [];
    this.#post({ kind: 'sign', requests });
  }

  #forget(): void {
    this.#flush();
    this.#sentSigners.clear();
    this.#post({ kind: 'forget' });
  }

  #post(message: ToSigningThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    this.#worker.postMessage(this.#packer.pack(message));
  }

  #take(message: FromSigningThread): void {
    if (this.#isDead) return;
    if (message.kind === 'started') {
      this.isUsable = true;
      return;
    }
    for (const result of message.results) {
      const pending = this.#pending.take(result.ticket);
      if ('error' in result) pending?.reject(errorOf(result));
      else pending?.resolve(takeSigned(Buffer.from(result.bytes.buffer), result.form));
    }
    if (this.#pending.size === 0) this.#worker.unref();
  }

  /** `cause`: null when the appliance ends the thread. */
  #die(cause: string | null): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.isUsable = false;
    this.#outbox = [];
    const unfinished = this.#pending.takeAll();
    for (const { bySelf, resolve, reject } of unfinished) void bySelf().then(resolve, reject);
    this.#worker.unref();
    if (cause !== null) this.#onDeath(cause, unfinished.length);
  }
}

function errorOf({ error, isUncomposable }: Extract<SignResult, { error: string }>): Error {
  return isUncomposable ? new UncomposableError(error) : new Error(error);
}

/** The runtime's text of an error quotes the source; its line beginning with `error:` says what it was. */
function firstLine(text: string): string {
  const line = /^error: (.*)$/m.exec(text)?.[1] ?? text.split('\n')[0] ?? '';
  return line.slice(0, 500) || 'an error without words';
}
