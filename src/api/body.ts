/**
 * Request bodies: how long they say they are, and their bytes.
 *
 * Promises that a body over 14 MB is refused from its head alone, and that one without a length is
 * refused too, unless it comes from a client library that can only stream (decisions, Sending): that
 * is read chunk by chunk, counted, and cut off at the same limit. Never answers `Connection: close`,
 * which makes several clients lose the answer (bun-notes section 5).
 */
import { ApiError, validationFailed } from '../base/errors.ts';
import { BODY_BYTES_MAX } from '../base/limits.ts';

/** User agents whose libraries send `Transfer-Encoding: chunked` and can not do otherwise. */
const STREAMING_AGENT = /^(?:resend-go|resend-sdk)\//;
const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Throws `length_required` or `payload_too_large`, by the head alone. A body on GET or DELETE is ignored. */
export function checkLength(request: Request): void {
  if (!METHODS_WITH_BODY.has(request.method)) return;
  const { headers } = request;
  const length = headers.get('content-length');
  if (length === null || headers.has('transfer-encoding')) {
    const isEmpty = request.body === null && !headers.has('transfer-encoding');
    if (isEmpty || STREAMING_AGENT.test(headers.get('user-agent') ?? '')) return;
    throw new ApiError('length_required', 'A request with a body needs a Content-Length header.');
  }
  if (!/^\d{1,15}$/.test(length) || Number(length) > BODY_BYTES_MAX) throw tooLarge();
}

/**
 * The bytes of a body that `checkLength` has let through; empty when there is none. A client that goes
 * away in the middle is refused like any other that sends half a body: it is no fault of ours.
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (request.body !== null && encoding !== '' && encoding !== 'identity') {
    const message = 'Content-Encoding is not supported: send the body as it is, uncompressed.';
    throw validationFailed([{ path: 'Content-Encoding', message }], { status: 400 });
  }
  try {
    return await bytesOf(request);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const message = 'The body ended before its length was reached.';
    throw validationFailed([{ path: '', message }], { status: 400 });
  }
}

async function bytesOf(request: Request): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  if (request.headers.has('content-length') && !request.headers.has('transfer-encoding')) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > BODY_BYTES_MAX) throw tooLarge();
    return bytes;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', 'The body is larger than 14 MB (14,680,064 bytes).', {
    detail: { max_bytes: BODY_BYTES_MAX },
  });
}
