/**
 * Request bodies: their declared length, their bytes, and the value in them.
 *
 * Promises that a body over 14 MB is refused before it is read, and that one without a length is refused too, unless it
 * comes from a client library that can only stream (docs/client-libraries.md L1): that one is read in chunks, counted,
 * and refused beyond the same limit. What the memory budget has no bytes for is refused before it is read. A body from
 * `LARGE_FROM` on is kept piece by piece, and its JSON is read on the thread for large messages (`mail/large`). Never sends
 * `Connection: close`, which makes several clients lose the response (docs/runtime-hazards.md H7).
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import { asBuffer } from '../base/as-buffer.ts';
import { ApiError, validationFailed } from '../base/errors.ts';
import { decodeText, parseJson } from '../base/json.ts';
import { giveBack, KeptBytes } from '../base/kept-bytes.ts';
import { BODY_BYTES_MAX } from '../base/limits.ts';
import { tooBusy, type Share } from '../flow/byte-budget.ts';
import type { Context } from '../flow/context.ts';

/** User agents of libraries that always send `Transfer-Encoding: chunked`. */
const STREAMING_AGENT = /^(?:resend-go|resend-sdk)\//;
/** Bytes. To read a smaller one takes a few milliseconds. */
const LARGE_FROM = 1024 * 1024;
/** Bytes after which other work is let in. */
const STRETCH = 256 * 1024;
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Throws `length_required` or `payload_too_large`, from the headers alone. Ignores a body on GET or DELETE. */
export function checkLength(request: Request): void {
  if (!METHODS_WITH_BODY.has(request.method)) return;
  const { headers } = request;
  const length = headers.get('content-length');
  if (length === null || headers.has('transfer-encoding')) {
    const isEmpty = request.body === null && !headers.has('transfer-encoding');
    if (isEmpty || STREAMING_AGENT.test(headers.get('user-agent') ?? '')) return;
    throw new ApiError(
      'length_required',
      'A request with a body must have a Content-Length header.',
    );
  }
  if (!/^\d{1,15}$/.test(length) || Number(length) > BODY_BYTES_MAX) throw tooLarge();
}

/** The body of a request: its bytes, and the value in them once they were read as JSON. */
export class RequestBody {
  /** Bytes of the body; stays when they are gone. */
  readonly length: number;
  /** Undefined as long as it was not read. */
  value: unknown;
  /** What `value` was read from; null for a large body, too. */
  text: string | null = null;
  #parts: readonly Buffer[];
  #hash: string | null = null;

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts;
    this.length = parts.reduce((sum, { length }) => sum + length, 0);
  }

  /** The value of its JSON; undefined where it is empty. Throws `validation_failed` (400 or 422). */
  async readJson(large: Context['large']): Promise<unknown> {
    if (this.length === 0) return undefined;
    if (this.length < LARGE_FROM) {
      const text = decodeText(this.#whole());
      this.value = await parseJson(text);
      this.text = text;
    } else {
      const parts = this.#parts;
      this.#parts = [];
      const { value, hash } = await large.parse(parts);
      this.value = value;
      this.#hash = hash;
    }
    return this.value;
  }

  /** SHA-256 of its bytes, in hexadecimal. */
  hash(): string {
    if (this.#hash !== null) return this.#hash;
    const hash = createHash('sha256');
    for (const part of this.#parts) hash.update(part);
    return hash.digest('hex');
  }

  /** Its bytes as text, for one that was not read as JSON; null where there are more than `most`. */
  unread(most: number): string | null {
    return this.length > most ? null : this.#whole().toString();
  }

  #whole(): Buffer {
    const [only] = this.#parts;
    return this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
  }
}

/**
 * The bytes of a body that passed `checkLength`; none when there is none. A client that disconnects in the middle gets
 * the refusal of an incomplete body: that is no fault of ours. `share` takes its bytes before they are read. Throws
 * `validation_failed`, `payload_too_large`, or `platform_halted` when too much is under way.
 */
export async function readBody(request: Request, share: Share): Promise<RequestBody> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity' && request.body !== null) {
    const message = 'Content-Encoding is not supported. Send the body uncompressed.';
    throw validationFailed([{ path: 'Content-Encoding', message }], { status: 400 });
  }
  try {
    return new RequestBody(await bytesOf(request, share));
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const message = 'The connection ended before the whole body had arrived.';
    throw validationFailed([{ path: '', message }], { status: 400 });
  }
}

/** In parts; one where they are few. */
async function bytesOf(request: Request, share: Share): Promise<Buffer[]> {
  const declared = request.headers.has('transfer-encoding')
    ? null
    : request.headers.get('content-length');
  if (declared !== null && !share.grow(Number(declared))) throw tooBusy();
  if (declared !== null && Number(declared) < LARGE_FROM) {
    // `request.body` is not asked for: it makes a stream, and reading that costs twice as much.
    const bytes = Buffer.from(await request.arrayBuffer());
    if (bytes.length > BODY_BYTES_MAX) throw tooLarge();
    return [bytes];
  }
  if (request.body === null) return [];
  const kept = new KeptBytes();
  let stretch = 0;
  try {
    for await (const chunk of request.body) {
      if (kept.length + chunk.length > BODY_BYTES_MAX) throw tooLarge();
      if (declared === null && !share.grow(chunk.length)) throw tooBusy();
      kept.push(asBuffer(chunk));
      stretch += chunk.length;
      if (!kept.hasChunks) giveBack(chunk);
      if (stretch < STRETCH) continue;
      stretch = 0;
      await nextTick();
    }
  } catch (error) {
    kept.drop();
    throw error;
  }
  return kept.take();
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', 'The body must be at most 14 MB (14,680,064 bytes).', {
    detail: { max_bytes: BODY_BYTES_MAX },
  });
}
