/**
 * The work of the signing thread: composes and signs what it is asked to, one message after the other.
 *
 * Promises a result for every request: bytes, or why there are none. Keeps the signers it was given until it is told
 * to forget them, and never forgets one that an earlier request needs. Opens libcrypto once, at the first signer.
 * Opens no file and no connection beyond that.
 */
import { withTextPart } from '../compose/compose.ts';
import { DkimSigner } from './dkim.ts';
import { Libcrypto } from './libcrypto.ts';
import { UncomposableError, writeSigned } from './signed-message.ts';
import type { Content } from './signed-message.ts';
import type {
  FromSigningThread,
  SignRequest,
  SignResult,
  ToSigningThread,
} from './signing-protocol.ts';

type Parts = Extract<Content, { kind: 'parts' }>;

/** Results that go together: a message between threads has its price, and so has waiting. */
const RESULTS_TOGETHER = 4;

export class SigningWork {
  readonly #post: (message: FromSigningThread) => void;
  readonly #openLibrary: () => Libcrypto | null;
  readonly #signers = new Map<number, DkimSigner>();
  /** Undefined until the first signer; null where the machine has no usable library. */
  #library: Libcrypto | null | undefined;
  /** Requests are worked off in the order they came. */
  #last: Promise<void> = Promise.resolve();

  constructor(post: (message: FromSigningThread) => void, openLibrary = Libcrypto.open) {
    this.#post = post;
    this.#openLibrary = openLibrary;
  }

  /** Takes one message of the main thread. Resolves when it is done. */
  take(message: ToSigningThread): Promise<void> {
    this.#last = this.#last.then(() =>
      message.kind === 'sign' ? this.#signAll(message.requests) : this.#forget(),
    );
    return this.#last;
  }

  async #signAll(requests: readonly SignRequest[]): Promise<void> {
    let results: SignResult[] = [];
    for (const request of requests) {
      results.push(await this.#sign(request));
      if (results.length < RESULTS_TOGETHER) continue;
      this.#post({ kind: 'signed', results });
      results = [];
    }
    if (results.length > 0) this.#post({ kind: 'signed', results });
  }

  async #sign(request: SignRequest): Promise<SignResult> {
    const { ticket, content } = request;
    try {
      const whole = isWithoutText(content)
        ? { ...content, input: await withTextPart(content.input) }
        : content;
      const { message, data, dotted } = await writeSigned(whole, this.#signerOf(request));
      const bytes = data ?? dotted ?? message;
      // A copy where the Buffer is a view of a larger one: that would cross whole and be missed here.
      return {
        ticket,
        bytes: isAlone(bytes) ? bytes : new Uint8Array(bytes),
        form: data !== null ? 'data' : dotted !== null ? 'dotted' : 'message',
      };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { ticket, error: text, isUncomposable: error instanceof UncomposableError };
    }
  }

  #signerOf({ signerId, identity }: SignRequest): DkimSigner {
    const known = this.#signers.get(signerId);
    if (known !== undefined) return known;
    if (identity === null) throw new Error('the signing thread does not have the key');
    if (this.#library === undefined) this.#library = this.#openLibrary();
    const signer = new DkimSigner(identity, this.#library);
    this.#signers.set(signerId, signer);
    return signer;
  }

  #forget(): void {
    for (const signer of this.#signers.values()) signer.free();
    this.#signers.clear();
  }
}

/** Html alone, of which a text part is wanted. */
function isWithoutText(content: Content): content is Parts {
  if (content.kind === 'whole' || content.isTextWanted !== true) return false;
  return content.input.html !== null && content.input.text === null;
}

function isAlone(bytes: Buffer): bytes is Buffer<ArrayBuffer> {
  return bytes.buffer.byteLength === bytes.length;
}
