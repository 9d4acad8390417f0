/**
 * RSA-SHA256 (PKCS #1 v1.5) by the system's libcrypto, through its C functions: half the time of the
 * runtime's own RSA. It runs on the calling thread, so only threads that may wait use it.
 *
 * Promises a signature, or null where the library is missing, is another version, or could not sign: the
 * caller has another way. Never keeps a key longer than its `LibcryptoKey` is used.
 */
import { createHash } from 'node:crypto';
import { dlopen, FFIType, ptr } from 'bun:ffi';
import type { Pointer } from 'bun:ffi';

/** The ABI of OpenSSL 3; other versions have other names. */
const LIBRARY = 'libcrypto.so.3';
const { ptr: POINTER, u64: SIZE, i64: LONG, i32: INT } = FFIType;
/** Room for the signature of an RSA key of up to 8192 bits. */
const OUTPUT_BYTES = 1024;

/** `RSA_PKCS1_PADDING` of openssl/rsa.h. */
const PKCS1_PADDING = 1;

function openLibrary() {
  try {
    return dlopen(LIBRARY, {
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
  } catch {
    return null;
  }
}

type Library = NonNullable<ReturnType<typeof openLibrary>>;

let library: Library | null | undefined;

/** One private key inside the library, made ready for one signature after the other. Call `free` at the end. */
export class LibcryptoKey {
  readonly #library: Library;
  readonly #context: Pointer;
  readonly #output = new Uint8Array(OUTPUT_BYTES);
  readonly #outputLength = new BigUint64Array(1);

  private constructor(found: Library, context: Pointer) {
    this.#library = found;
    this.#context = context;
  }

  /** `der`: PKCS #8 of an RSA key. Null where the library is missing or does not take the key. */
  static read(der: Uint8Array): LibcryptoKey | null {
    library ??= openLibrary();
    if (library === null) return null;
    // The function moves the pointer it is given: it gets a copy.
    const cursor = new BigUint64Array([BigInt(ptr(der))]);
    const key = library.d2i_AutoPrivateKey(null, ptr(cursor), der.length) as Pointer | null;
    if (key === null) return null;
    const context = library.EVP_PKEY_CTX_new(key, null) as Pointer | null;
    // The context keeps the key.
    library.EVP_PKEY_free(key);
    if (context === null) return null;
    const made = new LibcryptoKey(library, context);
    if (made.#isReady()) return made;
    made.free();
    return null;
  }

  #isReady(): boolean {
    const found = this.#library;
    return (
      found.EVP_PKEY_sign_init(this.#context) === 1 &&
      found.EVP_PKEY_CTX_set_rsa_padding(this.#context, PKCS1_PADDING) === 1 &&
      found.EVP_PKEY_CTX_set_signature_md(this.#context, found.EVP_sha256()) === 1
    );
  }

  /** The signature of `data`, or null when the library fails. */
  sign(data: Uint8Array): Buffer | null {
    const digest = createHash('sha256').update(data).digest();
    this.#outputLength[0] = BigInt(OUTPUT_BYTES);
    const isSigned = this.#library.EVP_PKEY_sign(
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
    this.#library.EVP_PKEY_CTX_free(this.#context);
  }
}
