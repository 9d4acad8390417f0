/**
 * What the request log keeps of an accepted email's request: all but the html and text that are stored with the message.
 *
 * Content is on disk once, and goes when the message's content goes. Promises that a row shows what was
 * asked for as long as the message has it, that only a message of the row's own account is read, and
 * that rows stored whole (refusals, batches, those of older versions) are returned unchanged. A missing message is
 * no failure.
 */
import type { Body, LogRecord } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { listedContentOf } from './content.ts';

/** Most of a body that the log keeps and shows, in bytes of UTF-8. */
export const MAX_LOG_BYTES = 16 * 1024;
/** Characters of html and text below which a row is kept whole: finding the message costs more than they do. */
const WORTH_LEAVING_OUT = 1_024;
/** Marks what was left out. Accepted html and text are strings, so nothing that was sent equals it. */
export const LEFT_OUT = true;
/** Shown for what retention has deleted. */
const GONE = '[no longer kept]';
const MEMBERS = ['html', 'text'] as const;

type Json = Record<string, unknown>;

/**
 * The request, in its own order, with `LEFT_OUT` for html and text. Null where it is not one email or where little
 * would be saved. `content`: what is stored with the message; a member that differs from it stays.
 */
export function withoutContent(
  request: unknown,
  content: Pick<Body, 'html' | 'text'>,
): Json | null {
  if (!isObject(request)) return null;
  const rest = { ...request };
  let length = 0;
  for (const member of MEMBERS) {
    const stored = content[member];
    if (stored === null || request[member] !== stored) continue;
    rest[member] = LEFT_OUT;
    length += stored.length;
  }
  return length < WORTH_LEAVING_OUT ? null : rest;
}

/** The row's request body with what was left out put back: JSON text, cut at `MAX_LOG_BYTES`, or null for none. */
export async function requestBodyOf(
  ctx: Pick<Context, 'store' | 'large' | 'budget'>,
  { accountId, messageId, requestBody }: LogRecord,
): Promise<string | null> {
  // Only a request that was accepted names a message.
  if (requestBody === null || messageId === null) return requestBody;
  const request = parsed(requestBody);
  if (!isObject(request)) return requestBody;
  const missing = MEMBERS.filter((member) => request[member] === LEFT_OUT);
  if (missing.length === 0) return requestBody;
  const body = await listedContentOf(ctx, accountId, messageId);
  for (const member of missing) request[member] = body?.[member] ?? GONE;
  return cutForLog(JSON.stringify(request));
}

/** The beginning of `text`, as much as the log keeps; never half a character. */
export function cutForLog(text: string): string {
  if (text.length * 3 <= MAX_LOG_BYTES) return text;
  // As many characters have as many bytes or more; the text may be 14 MB.
  const bytes = Buffer.from(text.slice(0, MAX_LOG_BYTES + 1));
  if (bytes.length <= MAX_LOG_BYTES) return text;
  let end = MAX_LOG_BYTES;
  // 10xxxxxx goes on with a character (RFC 3629 section 3).
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Undefined for what is not JSON: a body that was cut, or never was any. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
