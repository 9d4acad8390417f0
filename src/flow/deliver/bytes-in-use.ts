/**
 * The bytes of messages that are being sent, by account, and the messages that wait until there are fewer.
 *
 * Promises that one account's messages that no receiver takes stop no other account's: an account has `OWN_BYTES`, all of
 * them together half as much again; and that large messages stop no others, for which there is a little more. Small ones
 * never wait; those of an account that wait go on in the order in which they came, large ones and others apart. Only
 * counts: what is added has to be taken away once. Never fails.
 */

/** A message that would bring what its account has in use above this waits, unless it is small or the account has nothing. */
const OWN_BYTES = 96 * 1024 * 1024;
/** The same for all accounts. */
const ALL_BYTES = 144 * 1024 * 1024;
/** Bytes from which on a message is large: half a MiB of content, counted three times while it is made. */
const LARGE_FROM = 1.5 * 1024 * 1024;
/** Beyond both limits, for messages that are not large. */
const NOT_LARGE_BYTES = 16 * 1024 * 1024;
/** Never waits for large ones: attempts are counted (`flow/pacing/concurrency.ts`), and so are these. */
const SMALL_BYTES = 64 * 1024;

interface Later {
  bytes: number;
  wake: () => void;
}

/** Messages of an account that wait, the one that comes next first; never empty. The large ones have a line of their own. */
interface Line {
  accountId: string;
  messages: Later[];
}

export class BytesInUse {
  #all = 0;
  /** Of accounts that have sent, there are as many as the operator has made. */
  readonly #byAccount = new Map<string, number>();
  readonly #waiting = new Map<string, Line>();

  /** Counts `bytes` more for the account, or fewer when they are negative: then others may go on. */
  add(accountId: string, bytes: number): void {
    this.#all += bytes;
    this.#byAccount.set(accountId, (this.#byAccount.get(accountId) ?? 0) + bytes);
    if (bytes < 0 && this.#waiting.size > 0) this.#wake();
  }

  /** Whether a message of the account may take `bytes` now. Takes nothing. */
  isFree(accountId: string, bytes: number): boolean {
    return bytes <= SMALL_BYTES || this.#hasSpace(accountId, bytes, 0, 0);
  }

  /** Resolves when so many may be free for the account: others may have taken them before. */
  wait(accountId: string, bytes: number): Promise<void> {
    // What was in use may have ended since the caller has looked, and nothing else would wake it then.
    if (this.isFree(accountId, bytes)) return Promise.resolve();
    return new Promise((wake) => {
      const name = `${isLarge(bytes) ? 'large' : 'other'} ${accountId}`;
      const line = this.#waiting.get(name);
      if (line === undefined) this.#waiting.set(name, { accountId, messages: [{ bytes, wake }] });
      else line.messages.push({ bytes, wake });
    });
  }

  /** `soonAll` and `soonOwn`: what is about to be taken, by all and of it by the account. */
  #hasSpace(accountId: string, bytes: number, soonAll: number, soonOwn: number): boolean {
    const all = this.#all + soonAll;
    const own = (this.#byAccount.get(accountId) ?? 0) + soonOwn;
    // One that is larger than the limit goes alone.
    if (all === 0) return true;
    const more = isLarge(bytes) ? 0 : NOT_LARGE_BYTES;
    return all + bytes <= ALL_BYTES + more && (own === 0 || own + bytes <= OWN_BYTES + more);
  }

  /** Those that fit now. */
  #wake(): void {
    let all = 0;
    for (const [name, { accountId, messages }] of this.#waiting) {
      let own = 0;
      for (let [first] = messages; first !== undefined; [first] = messages) {
        if (!this.#hasSpace(accountId, first.bytes, all, own)) break;
        messages.shift();
        all += first.bytes;
        own += first.bytes;
        first.wake();
      }
      if (messages.length === 0) this.#waiting.delete(name);
    }
  }
}

function isLarge(bytes: number): boolean {
  return bytes >= LARGE_FROM;
}
