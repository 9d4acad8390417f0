/**
 * RSA-SHA256 (PKCS #1 v1.5) by the system's libcrypto, through its C functions: half the time of the
 * runtime's own RSA. It runs on the calling thread, so only threads that may wait use it.
 *
 * Promises a signature, or null where the library is missing, is another version, or could not sign: the
 * caller has another way. Never keeps a key longer than its `LibcryptoKey` is used.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi';
import type { Pointer } from 'bun:ffi';

/** The ABI of OpenSSL 3; other versions have other names. */
const LIBRARY = 'libcrypto.so.3';
const { ptr: POINTER, u64: SIZE, i64: LONG, i32: INT } = FFIType;
/** Room for the signature of an RSA key of up to 8192 bits. */
const OUTPUT_BYTES = 1024;

function openLibrary() {
  try {
    return dlopen(LIBRARY, {
      d2i_AutoPrivateKey: { args: [POINTER, POINTER, LONG], returns: POINTER },
      EVP_PKEY_free: { args: [POINTER], returns: FFIType.void },
      EVP_sha256: { args: [], returns: POINTER },
      EVP_MD_CTX_new: { args: [], returns: POINTER },
      EVP_MD_CTX_free: { args: [POINTER], returns: FFIType.void },
      EVP_DigestSignInit: { args: [POINTER, POINTER, POINTER, POINTER, POINTER], returns: INT },
      EVP_DigestSign: { args: [POINTER, POINTER, POINTER, POINTER, SIZE], returns: INT },
    }).symbols;
  } catch {
    return null;
  }
}

type Library = NonNullable<ReturnType<typeof openLibrary>>;

let library: Library | null | undefined;

/** One private key inside the library. Call `free` when it is used no more. */
export class LibcryptoKey {
  readonly #library: Library;
  readonly #key: Pointer;
  readonly #output = new Uint8Array(OUTPUT_BYTES);
  readonly #outputLength = new BigUint64Array(1);

  private constructor(found: Library, key: Pointer) {
    this.#library = found;
    this.#key = key;
  }

  /** `der`: PKCS #8. Null where the library is missing or does not take the key. */
  static read(der: Uint8Array): LibcryptoKey | null {
    library ??= openLibrary();
    if (library === null) return null;
    // The function moves the pointer it is given: it gets a copy.
    const cursor = new BigUint64Array([BigInt(ptr(der))]);
    const key = library.d2i_AutoPrivateKey(null, ptr(cursor), der.length) as Pointer | null;
    return key === null ? null : new LibcryptoKey(library, key);
  }

  sign(data: Uint8Array): Buffer | null {
    const found = this.#library;
    // No bytes have no address to hand over.
    if (data.length === 0) return null;
    const context = found.EVP_MD_CTX_new() as Pointer | null;
    if (context === null) return null;
    try {
      const digest = found.EVP_sha256() as Pointer | null;
      if (found.EVP_DigestSignInit(context, null, digest, null, this.#key) !== 1) return null;
      this.#outputLength[0] = BigInt(OUTPUT_BYTES);
      const isSigned = found.EVP_DigestSign(
        context,
        ptr(this.#output),
        ptr(this.#outputLength),
        ptr(data),
        data.length,
      );
      return isSigned === 1
        ? Buffer.from(this.#output.subarray(0, Number(this.#outputLength[0])))
        : null;
    } finally {
      found.EVP_MD_CTX_free(context);
    }
  }

  free(): void {
    this.#library.EVP_PKEY_free(this.#key);
  }
}
