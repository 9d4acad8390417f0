/**
 * The signing thread: RSA-SHA256 (PKCS #1 v1.5) by the system's libcrypto, through its C functions.
 *
 * Takes half the time of the runtime's own RSA. Promises an answer to every request, null where the
 * library could not sign. Says at its start whether the library was found; without it, it does nothing.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi';
import type { Pointer } from 'bun:ffi';

export interface SignRequest {
  ticket: number;
  keyId: number;
  /** One character a byte. */
  data: string;
  /** PKCS #8 DER; set when this thread does not hold the key yet. */
  der: Uint8Array | null;
}

export type ToSigner = { kind: 'sign'; requests: SignRequest[] } | { kind: 'forget' };

export type FromSigner =
  | { kind: 'started'; isUsable: boolean }
  | { kind: 'signed'; answers: { ticket: number; signature: Uint8Array | null }[] };

declare const self: Worker;

/** The ABI of OpenSSL 3; other versions have other names. */
const LIBRARY = 'libcrypto.so.3';
const { ptr: POINTER, u64: SIZE, i64: LONG, i32: INT } = FFIType;

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

const library = openLibrary();
const digest = library === null ? null : (library.EVP_sha256() as Pointer | null);
const keys = new Map<number, Pointer>();
/** Room for the signature of an RSA key of up to 8192 bits, and its length. */
const output = new Uint8Array(1024);
const outputLength = new BigUint64Array(1);

function keyOf({ keyId, der }: SignRequest): Pointer | null {
  const known = keys.get(keyId);
  if (known !== undefined) return known;
  if (library === null || der === null) return null;
  // The function moves the pointer it is given: it gets a copy.
  const cursor = new BigUint64Array([BigInt(ptr(der))]);
  const key = library.d2i_AutoPrivateKey(null, ptr(cursor), der.length) as Pointer | null;
  if (key === null) return null;
  keys.set(keyId, key);
  return key;
}

function sign(request: SignRequest): Uint8Array | null {
  const key = keyOf(request);
  if (library === null || key === null) return null;
  const context = library.EVP_MD_CTX_new() as Pointer | null;
  if (context === null) return null;
  try {
    if (library.EVP_DigestSignInit(context, null, digest, null, key) !== 1) return null;
    outputLength[0] = BigInt(output.length);
    const data = Buffer.from(request.data, 'latin1');
    const isSigned = library.EVP_DigestSign(
      context,
      ptr(output),
      ptr(outputLength),
      ptr(data),
      data.length,
    );
    return isSigned === 1 ? output.slice(0, Number(outputLength[0])) : null;
  } finally {
    library.EVP_MD_CTX_free(context);
  }
}

function post(message: FromSigner): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
  self.postMessage(message);
}

self.addEventListener('message', ({ data }: MessageEvent<ToSigner>) => {
  if (data.kind === 'forget') {
    for (const key of keys.values()) library?.EVP_PKEY_free(key);
    keys.clear();
    return;
  }
  const answers = data.requests.map((request) => ({
    ticket: request.ticket,
    signature: sign(request),
  }));
  post({ kind: 'signed', answers });
});

post({ kind: 'started', isUsable: library !== null });
