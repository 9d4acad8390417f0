/**
 * RSA-SHA256 signatures off the main thread: by the runtime's pool, and under load by a thread of our own
 * with the system's libcrypto, which needs half the time for each.
 *
 * Promises a signature or a rejection. Without the library, before the thread is up, or when it fails, the
 * runtime signs: slower, never worse. The thread is started at the first load and never keeps the
 * process alive.
 */
import { createPrivateKey, sign as signBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { FromSigner, SignRequest, ToSigner } from './rsa-thread.ts';

/** Signatures at once that are reason enough for a thread. */
const LOAD = 6;
/** Keys that the thread holds before it is told to forget them all. */
const KEYS_MAX = 1000;

interface Waiting {
  resolve(signature: Buffer): void;
  /** By the runtime, when the thread could not. */
  retry(): void;
}

let thread: SigningThread | null = null;
let inFlight = 0;
let nextKeyId = 1;

/** One private key. Throws when `pem` is no RSA key. */
export class RsaKey {
  readonly signatureBytes: number;
  readonly #key: KeyObject;
  readonly #id: number;
  #der: Uint8Array | null = null;

  constructor(pem: string) {
    this.#key = createPrivateKey(pem);
    const bits = this.#key.asymmetricKeyDetails?.modulusLength;
    if (this.#key.asymmetricKeyType !== 'rsa' || bits === undefined) {
      throw new Error('a DKIM key must be an RSA key');
    }
    this.signatureBytes = Math.ceil(bits / 8);
    this.#id = nextKeyId++;
  }

  /**
   * The PKCS #1 v1.5 signature of `data` (one character a byte) with SHA-256. Text, because small Buffers
   * are views of large ones, which cross to a thread whole.
   */
  async sign(data: string): Promise<Buffer> {
    inFlight += 1;
    try {
      if (inFlight >= LOAD) thread ??= SigningThread.start();
      if (thread === null || !thread.isUsable || inFlight < 2) return await this.#byRuntime(data);
      this.#der ??= new Uint8Array(this.#key.export({ type: 'pkcs8', format: 'der' }));
      return await thread.sign(this.#id, this.#der, data, () => this.#byRuntime(data));
    } finally {
      inFlight -= 1;
    }
  }

  #byRuntime(data: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      signBytes('sha256', Buffer.from(data, 'latin1'), this.#key, (error, signature) => {
        if (error) reject(error);
        else resolve(signature);
      });
    });
  }
}

class SigningThread {
  isUsable = false;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #sentKeys = new Set<number>();
  #outbox: SignRequest[] = [];
  #nextTicket = 1;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.addEventListener('message', ({ data }: MessageEvent<FromSigner>) => this.#take(data));
    worker.addEventListener('error', () => this.#giveUp());
    worker.unref();
  }

  static start(): SigningThread {
    // In the compiled program each thread is an entry point of its own (see store/threads.ts).
    const isCompiled = import.meta.url.startsWith('file:///$bunfs/');
    const path = isCompiled ? './mail/rsa-thread.ts' : './rsa-thread.ts';
    return new SigningThread(new Worker(new URL(path, import.meta.url).href));
  }

  sign(
    keyId: number,
    der: Uint8Array,
    data: string,
    byRuntime: () => Promise<Buffer>,
  ): Promise<Buffer> {
    if (this.#sentKeys.size >= KEYS_MAX && !this.#sentKeys.has(keyId)) this.#forgetKeys();
    const isNew = !this.#sentKeys.has(keyId);
    this.#sentKeys.add(keyId);
    const ticket = this.#nextTicket++;
    this.#outbox.push({ ticket, keyId, data, der: isNew ? der : null });
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
    // Held while somebody waits: an unreferenced thread would leave the loop to spin, or to end.
    if (this.#waiting.size === 0) this.#worker.ref();
    return new Promise((resolve, reject) => {
      const retry = (): void => void byRuntime().then(resolve, reject);
      this.#waiting.set(ticket, { resolve, retry });
    });
  }

  /** One message for all that came in one turn of the loop: crossing threads costs more than they do. */
  #flush(): void {
    if (this.#outbox.length === 0) return;
    const requests = this.#outbox;
    this.#outbox = [];
    this.#post({ kind: 'sign', requests });
  }

  #forgetKeys(): void {
    this.#flush();
    this.#sentKeys.clear();
    this.#post({ kind: 'forget' });
  }

  #post(message: ToSigner): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    this.#worker.postMessage(message);
  }

  #take(message: FromSigner): void {
    if (message.kind === 'started') {
      this.isUsable = message.isUsable;
      return;
    }
    for (const { ticket, signature } of message.answers) {
      const waiting = this.#waiting.get(ticket);
      this.#waiting.delete(ticket);
      if (signature === null) waiting?.retry();
      else waiting?.resolve(Buffer.from(signature.buffer, signature.byteOffset, signature.length));
    }
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #giveUp(): void {
    this.isUsable = false;
    this.#outbox = [];
    for (const waiting of this.#waiting.values()) waiting.retry();
    this.#waiting.clear();
  }
}
