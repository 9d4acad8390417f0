/**
 * RSA-SHA256 (PKCS #1 v1.5) by the system's libcrypto, through its C functions: half the time of the runtime's own
 * RSA. It runs on the calling thread, so only threads that may wait use it.
 *
 * Promises a signature, or null where the library is missing, is another version, or could not sign: the caller has
 * another way. Opening is tried when it is asked for, so ask once and keep the object, null included. Never keeps a
 * key longer than its `LibcryptoKey` is used.
 */
import { createHash } from 'node:crypto';
import { dlopen, FFIType, ptr } from 'bun:ffi';
import type { Pointer } from 'bun:ffi';

/** The ABI of OpenSSL 3; other versions have other names. */
const LIBRARY = 'libcrypto.so.3';
const { ptr: POINTER, u64: SIZE, i64: LONG, i32: INT } = FFIType;
/** The signature of an RSA key of up to 8192 bits fits. */
const OUTPUT_BYTES = 1024;

/** `RSA_PKCS1_PADDING` of openssl/rsa.h. */
const PKCS1_PADDING = 1;

function openSymbols(file: string) {
  return dlopen(file, {
    d2i_AutoPrivateKey: { args: [POINTER, POINTER, LONG], returns: POINTER },
    EVP_PKEY_free: { args: [POINTER], returns: FFIType.void },
    EVP_sha256: { args: [], returns: POINTER },
    EVP_PKEY_CTX_new: { args: [POINTER, POINTER], returns: POINTER },
    EVP_PKEY_CTX_free: { args: [POINTER], returns: FFIType.void },
    EVP_PKEY_sign_init: { args: [POINTER], returns: INT },
    EVP_PKEY_CTX_set_rsa_padding: { args: [POINTER, INT], returns: INT },
    EVP_PKEY_CTX_set_signature_md: { args: [POINTER, POINTER], returns: INT },
    EVP_PKEY_sign: { args: [POINTER, POINTER, POINTER, POINTER, SIZE], returns: INT },
  }).symbols;
}

type Symbols = ReturnType<typeof openSymbols>;

/** The open library. */
export class Libcrypto {
  readonly #symbols: Symbols;

  private constructor(symbols: Symbols) {
    this.#symbols = symbols;
  }

  /** Null where the library is missing or lacks a function. Costs a search of the system's library folders. */
  static open(this: void, file = LIBRARY): Libcrypto | null {
    try {
      return new Libcrypto(openSymbols(file));
    } catch {
      return null;
    }
  }

  /** `der`: PKCS #8 of an RSA key. Null where the library does not take the key. */
  readKey(der: Uint8Array): LibcryptoKey | null {
    const symbols = this.#symbols;
    // The function moves the pointer it is given: it gets a copy.
    const cursor = new BigUint64Array([BigInt(ptr(der))]);
    const key = symbols.d2i_AutoPrivateKey(null, ptr(cursor), der.length) as Pointer | null;
    if (key === null) return null;
    const context = symbols.EVP_PKEY_CTX_new(key, null) as Pointer | null;
    // The context keeps the key.
    symbols.EVP_PKEY_free(key);
    if (context === null) return null;
    const made = new LibcryptoKey(symbols, context);
    if (made.prepare()) return made;
    made.free();
    return null;
  }
}

/** One private key inside the library, ready for one signature after the other. Call `free` at the end. */
export class LibcryptoKey {
  readonly #symbols: Symbols;
  readonly #context: Pointer;
  readonly #output = new Uint8Array(OUTPUT_BYTES);
  readonly #outputLength = new BigUint64Array(1);

  /** Made by `Libcrypto.readKey`. */
  constructor(symbols: Symbols, context: Pointer) {
    this.#symbols = symbols;
    this.#context = context;
  }

  /** Chooses padding and digest; false when the library refuses them. */
  prepare(): boolean {
    const symbols = this.#symbols;
    return (
      symbols.EVP_PKEY_sign_init(this.#context) === 1 &&
      symbols.EVP_PKEY_CTX_set_rsa_padding(this.#context, PKCS1_PADDING) === 1 &&
      symbols.EVP_PKEY_CTX_set_signature_md(this.#context, symbols.EVP_sha256()) === 1
    );
  }

  /** The signature of `data`, or null when the library fails. */
  sign(data: Uint8Array): Buffer | null {
    const digest = createHash('sha256').update(data).digest();
    this.#outputLength[0] = BigInt(OUTPUT_BYTES);
    const isSigned = this.#symbols.EVP_PKEY_sign(
      this.#context,
      ptr(this.#output),
      ptr(this.#outputLength),
      ptr(digest),
      digest.length,
    );
    return isSigned === 1
      ? Buffer.from(this.#output.subarray(0, Number(this.#outputLength[0])))
      : null;
  }

  free(): void {
    this.#symbols.EVP_PKEY_CTX_free(this.#context);
  }
}
