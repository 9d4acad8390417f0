/**
 * Request bodies: their declared length, and their bytes.
 *
 * Promises that a body over 14 MB is refused before it is read, and that one without a length is refused too, unless it
 * comes from a client library that can only stream (docs/client-libraries.md L1): that one is read in chunks, counted,
 * and refused beyond the same limit. What the memory budget has no bytes for is refused before it is read. Never sends
 * `Connection: close`, which makes several clients lose the response (docs/runtime-hazards.md H7).
 */
import { ApiError, validationFailed } from '../base/errors.ts';
import { BODY_BYTES_MAX } from '../base/limits.ts';
import { tooBusy, type Share } from '../flow/byte-budget.ts';

/** User agents of libraries that always send `Transfer-Encoding: chunked`. */
const STREAMING_AGENT = /^(?:resend-go|resend-sdk)\//;
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

/**
 * The bytes of a body that passed `checkLength`; empty when there is none. A client that disconnects in the middle gets
 * the refusal of an incomplete body: that is no fault of ours. `share` takes its bytes before they are read. Throws
 * `validation_failed`, `payload_too_large`, or `platform_halted` when too much is under way.
 */
export async function readBody(request: Request, share: Share): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity' && request.body !== null) {
    const message = 'Content-Encoding is not supported. Send the body uncompressed.';
    throw validationFailed([{ path: 'Content-Encoding', message }], { status: 400 });
  }
  try {
    return await bytesOf(request, share);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const message = 'The connection ended before the whole body had arrived.';
    throw validationFailed([{ path: '', message }], { status: 400 });
  }
}

async function bytesOf(request: Request, share: Share): Promise<Uint8Array> {
  const length = request.headers.get('content-length');
  if (length !== null && !request.headers.has('transfer-encoding')) {
    // `request.body` is not asked for: it makes a stream, and reading that costs twice as much.
    if (!share.grow(Number(length))) throw tooBusy();
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > BODY_BYTES_MAX) throw tooLarge();
    return bytes;
  }
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw tooLarge();
    if (!share.grow(chunk.length)) throw tooBusy();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', 'The body must be at most 14 MB (14,680,064 bytes).', {
    detail: { max_bytes: BODY_BYTES_MAX },
  });
}
