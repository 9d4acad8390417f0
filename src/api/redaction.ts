/**
 * What of a request's bodies may be kept in the log.
 *
 * Promises that no key, secret or attachment content reaches a log row, and that a row's bodies are cut
 * at 16 KiB. A body that can not be read as JSON is not kept at all, since nothing could be taken out.
 */
const MAX_LOG_BYTES = 16 * 1024;
const HIDDEN = '[hidden]';
const SECRET_FIELDS: ReadonlySet<string> = new Set(['token', 'key', 'signing_secret', 'secret']);
/** The words without which a body has nothing to hide: most bodies are never taken apart. */
const SUSPECT = /"(?:token|key|signing_secret|secret|attachments|content|download_url)"|\\u/;

/** A body fit for the log: JSON text, at most 16 KiB in UTF-8, or null for none. */
export function logBody(text: string | null): string | null {
  if (text === null || text === '') return null;
  if (!SUSPECT.test(text)) return cut(text);
  try {
    return cut(JSON.stringify(JSON.parse(text), hide));
  } catch {
    return `[${text.length} characters that are not JSON]`;
  }
}

/** In bodies of ours only an attachment has `content`. */
function hide(key: string, value: unknown): unknown {
  if (SECRET_FIELDS.has(key) && value !== null) return HIDDEN;
  if (key === 'download_url') return HIDDEN;
  if (key === 'content' && value !== null) return sizeOf(value);
  return value;
}

function sizeOf(value: unknown): string {
  if (typeof value === 'string') return `[hidden, ${value.length} characters]`;
  return HIDDEN;
}

function cut(text: string): string {
  if (text.length * 3 <= MAX_LOG_BYTES) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_LOG_BYTES) return text;
  // A character cut in two becomes U+FFFD; it is dropped with what follows it.
  return bytes
    .subarray(0, MAX_LOG_BYTES)
    .toString('utf8')
    .replace(/\ufffd$/, '');
}
