/**
 * RSA-SHA256 signatures: by the runtime's thread pool, so that the calling thread does not wait, or by the system's
 * libcrypto on the calling thread, which is faster.
 *
 * Promises a signature or a rejection. Where the library is missing or fails, the runtime signs.
 */
import { createPrivateKey, sign as signBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Libcrypto, LibcryptoKey } from './libcrypto.ts';

const signInPool = promisify(signBytes);

/** One private key. Throws when `pem` is no RSA key. */
export class RsaKey {
  readonly signatureBytes: number;
  readonly #key: KeyObject;
  readonly #quick: LibcryptoKey | null;

  /** `library`: signs on the calling thread, for threads that may wait; null: by the runtime's pool. */
  constructor(pem: string, library: Libcrypto | null = null) {
    this.#key = createPrivateKey(pem);
    const bits = this.#key.asymmetricKeyDetails?.modulusLength;
    if (this.#key.asymmetricKeyType !== 'rsa' || bits === undefined) {
      throw new Error('a DKIM key must be an RSA key');
    }
    this.signatureBytes = Math.ceil(bits / 8);
    this.#quick = library?.readKey(this.#key.export({ type: 'pkcs8', format: 'der' })) ?? null;
  }

  /** The PKCS #1 v1.5 signature of `data` (one character a byte) with SHA-256. */
  async sign(data: string): Promise<Buffer> {
    const bytes = Buffer.from(data, 'latin1');
    return this.#quick?.sign(bytes) ?? signInPool('sha256', bytes, this.#key);
  }

  /** Gives back what the library holds. Do not sign afterwards. */
  free(): void {
    this.#quick?.free();
  }
}
