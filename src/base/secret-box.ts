/**
 * Secrets at rest: AES-256-GCM under the key file of the data directory.
 *
 * Promises that a sealed value opens only with the same key and the same label, so that a sealed DKIM
 * key cannot be swapped for another domain's. Fails loudly: a wrong key or altered bytes throw.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Bytes of the master key in the key file. */
export const MASTER_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 1;
const MAC_KEY_LABEL = 'mac key';

export class SecretBox {
  readonly #sealKey: Buffer;
  readonly #macKey: Buffer;
  /** Has read the key and nothing else: a copy of it takes a third of the time of a new one. */
  readonly #keyed: Bun.CryptoHasher;

  /** Names the master key and tells nothing of it, 64 hex digits: what a store keeps to know its key again. */
  readonly fingerprint: string;

  /** `masterKey`: exactly 32 random bytes. `macKey`: what `mac` uses instead of one derived from it. */
  constructor(masterKey: Uint8Array, macKey?: Uint8Array) {
    if (masterKey.length !== MASTER_KEY_BYTES) throw new Error('master key must have 32 bytes');
    const derive = (use: string): Buffer =>
      Buffer.from(hkdfSync('sha256', masterKey, '', `postrider ${use} v1`, 32));
    this.#sealKey = derive('seal');
    this.#macKey = macKey === undefined ? derive('mac') : Buffer.from(macKey);
    this.#keyed = new Bun.CryptoHasher('sha256', this.#macKey);
    this.fingerprint = derive('fingerprint').toString('hex');
  }

  /** Whether `sealed` opens under this key and `label`. */
  opens(sealed: Uint8Array, label: string): boolean {
    try {
      this.open(sealed, label);
      return true;
    } catch {
      return false;
    }
  }

  /** A box under another master key whose `mac` makes what this one's makes. */
  withMasterKey(masterKey: Uint8Array): SecretBox {
    return new SecretBox(masterKey, this.#macKey);
  }

  /** The key of `mac`, sealed; `withSealedMacKey` takes it. */
  sealMacKey(): Uint8Array {
    return this.seal(this.#macKey.toString('hex'), MAC_KEY_LABEL);
  }

  /** This master key with the key of `mac` that another box had. Throws when it was sealed under another master key. */
  withSealedMacKey(masterKey: Uint8Array, sealed: Uint8Array): SecretBox {
    return new SecretBox(masterKey, Buffer.from(this.open(sealed, MAC_KEY_LABEL), 'hex'));
  }

  /** version byte, nonce, tag, ciphertext. `label` binds the value to its row, e.g. `dkim:<domain id>`. */
  seal(plain: string, label: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealKey, nonce);
    cipher.setAAD(Buffer.from(label, 'utf8'));
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body]);
  }

  /** Throws when the bytes were altered, or sealed under another key or label. */
  open(sealed: Uint8Array, label: string): string {
    const bytes = Buffer.from(sealed);
    if (bytes[0] !== VERSION) throw new Error('sealed value has an unknown version');
    const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
    const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#sealKey, nonce);
    decipher.setAAD(Buffer.from(label, 'utf8'));
    decipher.setAuthTag(tag);
    const body = bytes.subarray(1 + NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  }

  /** HMAC-SHA256 of `text` under a key of its own for `purpose` (return paths, unsubscribe links, sessions). */
  mac(purpose: string, text: string): Buffer {
    // Called twice for every message: the runtime's own hasher takes half the time of node:crypto's.
    return this.#keyed.copy().update(`${purpose}\0${text}`).digest();
  }
}
