/**
 * Signed messages for the main thread: made here while there are few, and by the signing thread under load,
 * so that composing and signing do not hold up everything else.
 *
 * Promises signed bytes or a rejection. When the thread fails, the main thread does its work: slower, never
 * worse. The thread is started at the first load and keeps the process alive only while it is asked.
 */
import { Packer } from '../base/packing.ts';
import { DkimSigner } from './dkim.ts';
import type { DkimIdentity } from './dkim.ts';
import { UncomposableError, takeSigned, writeSigned } from './signed-message.ts';
import type { Content, Signed } from './signed-message.ts';
import type { FromSigner, SignRequest, ToSigner } from './signing-thread.ts';

/** Messages at once that are reason enough for a thread. */
const LOAD = 6;
/** Signers that the thread holds before it is told to forget them all. */
const SIGNERS_MAX = 1_000;

interface Waiting {
  resolve(signed: Signed): void;
  reject(error: Error): void;
  /** By this thread, when the other one is gone. */
  retry(): void;
}

let thread: SigningThread | null = null;
let inFlight = 0;
let nextSignerId = 1;

/** Composes and signs for one domain; keep it, since reading the key costs more than using it. */
export class MessageSigner {
  readonly #identity: DkimIdentity;
  readonly #signer: DkimSigner;
  readonly #id: number;

  /** Throws when the identity's key is no RSA key, or its names can not stand in a signature. */
  constructor(identity: DkimIdentity) {
    this.#identity = identity;
    this.#signer = new DkimSigner(identity);
    this.#id = nextSignerId++;
  }

  /** The whole message, DKIM-Signature first. */
  async sign(content: Content): Promise<Signed> {
    inFlight += 1;
    try {
      if (inFlight >= LOAD) thread ??= new SigningThread();
      if (thread === null || !thread.isUsable || inFlight < 2) {
        return await writeSigned(content, this.#signer);
      }
      const bySelf = (): Promise<Signed> => writeSigned(content, this.#signer);
      return await thread.sign(this.#id, this.#identity, content, bySelf);
    } finally {
      inFlight -= 1;
    }
  }
}

class SigningThread {
  isUsable = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #sentSigners = new Set<number>();
  readonly #packer = new Packer();
  #outbox: SignRequest[] = [];
  #nextTicket = 1;

  constructor() {
    // In the compiled program each thread is an entry point of its own (see store/threads.ts).
    const isCompiled = import.meta.url.startsWith('file:///$bunfs/');
    const path = isCompiled ? './mail/signing-thread.ts' : './signing-thread.ts';
    this.#worker = new Worker(new URL(path, import.meta.url).href);
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromSigner>) => {
      this.#take(data);
    });
    this.#worker.addEventListener('error', () => this.#giveUp());
    this.#worker.unref();
  }

  sign(
    signerId: number,
    identity: DkimIdentity,
    content: Content,
    bySelf: () => Promise<Signed>,
  ): Promise<Signed> {
    if (this.#sentSigners.size >= SIGNERS_MAX && !this.#sentSigners.has(signerId)) this.#forget();
    const isNew = !this.#sentSigners.has(signerId);
    this.#sentSigners.add(signerId);
    const ticket = this.#nextTicket++;
    this.#outbox.push({ ticket, signerId, identity: isNew ? identity : null, content });
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
    // Held while somebody waits: an unreferenced thread would leave the loop to spin, or to end.
    if (this.#waiting.size === 0) this.#worker.ref();
    return new Promise((resolve, reject) => {
      const retry = (): void => void bySelf().then(resolve, reject);
      this.#waiting.set(ticket, { resolve, reject, retry });
    });
  }

  /** One message for all that came in one turn of the loop: crossing threads costs more than they do. */
  #flush(): void {
    if (this.#outbox.length === 0) return;
    const requests = this.#outbox;
    this.#outbox = [];
    this.#post({ kind: 'sign', requests });
  }

  #forget(): void {
    this.#flush();
    this.#sentSigners.clear();
    this.#post({ kind: 'forget' });
  }

  #post(message: ToSigner): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    this.#worker.postMessage(this.#packer.pack(message));
  }

  #take(message: FromSigner): void {
    if (message.kind === 'started') {
      this.isUsable = true;
      return;
    }
    for (const answer of message.answers) {
      const waiting = this.#waiting.get(answer.ticket);
      this.#waiting.delete(answer.ticket);
      if ('error' in answer) waiting?.reject(errorOf(answer));
      else waiting?.resolve(takeSigned(Buffer.from(answer.bytes.buffer), answer.isData));
    }
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #giveUp(): void {
    this.isUsable = false;
    this.#outbox = [];
    for (const waiting of this.#waiting.values()) waiting.retry();
    this.#waiting.clear();
    this.#worker.unref();
  }
}

function errorOf({ error, isUncomposable }: { error: string; isUncomposable: boolean }): Error {
  return isUncomposable ? new UncomposableError(error) : new Error(error);
}
