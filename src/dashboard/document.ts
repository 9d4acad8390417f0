/**
 * Documents of the dashboard: the content of an email in its frame, and files to save.
 *
 * Promises that none runs a script or loads anything, and that a large one takes its bytes of the memory budget until the
 * browser has read it.
 */
import { tooBusy, type ByteBudget } from '../flow/byte-budget.ts';
import { inChunks, isLarge } from '../flow/large-response.ts';
import type { DocumentResponse } from './frame/visit.ts';

/** For content of emails: no script, no form, no network, an origin of its own. */
const DOCUMENT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** All operators together are one owner of the memory budget. */
const OWNER = 'dashboard';

/**
 * The response, with `headers` too. `budget`: null for a HEAD, whose response is the same without its body (RFC 9110
 * section 9.3.2). Throws `platform_halted` when the budget has too few bytes.
 */
export function documentResponse(
  budget: Pick<ByteBudget, 'open'> | null,
  { contentType, body, saveAs }: DocumentResponse,
  headers: Readonly<Record<string, string>>,
): Response {
  return new Response(budget === null ? null : countedBody(budget, body), {
    headers: {
      ...headers,
      ...(budget === null && lengthOf(body)),
      'Content-Type': contentType,
      'Content-Security-Policy': DOCUMENT_POLICY,
      ...(saveAs !== undefined && { 'Content-Disposition': attachmentName(saveAs) }),
    },
  });
}

function countedBody(
  budget: Pick<ByteBudget, 'open'>,
  body: DocumentResponse['body'],
): DocumentResponse['body'] {
  if (body instanceof ReadableStream || !isLarge(body)) return body;
  const share = budget.open(OWNER);
  if (!share.grow(body.length)) throw tooBusy();
  return inChunks(body, share);
}

function lengthOf(body: DocumentResponse['body']): Record<string, string> {
  return body instanceof ReadableStream
    ? {}
    : { 'Content-Length': String(Buffer.byteLength(body)) };
}

/** RFC 6266 section 4.1: the name in ASCII for all, and in UTF-8 for those who read it. */
function attachmentName(name: string): string {
  const ascii = name.replace(/[^\w.@ -]/g, '_');
  // RFC 8187 section 3.2.1: these four are left alone by encodeURIComponent and are no attr-char.
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
