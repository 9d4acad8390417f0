/**
 * What of a request's bodies may be kept in the log.
 *
 * Promises that no key, secret or attachment content reaches a log row, nor an email's html, text and headers where
 * they are to be kept for a shorter time than the row, and that a row's bodies are cut at 16 KiB. A body that can not
 * be read as JSON is not kept at all, since nothing could be taken out.
 */
import { cutForLog, LEFT_OUT } from '../flow/logged-request.ts';

const HIDDEN = '[hidden]';
/** In lower case without underscores: a misspelt field is refused, but its value may be just as secret. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['token', 'key', 'signingsecret', 'secret']);
/** What of an attachment is not its content. */
const ATTACHMENT_FIELDS: ReadonlySet<string> = new Set([
  'content',
  'contentid',
  'contenttype',
  'filename',
  'inlinecontentid',
  'path',
]);
/** An email's content, in the words of other services too: such a field is refused, but its value is as private. */
const CONTENT_FIELDS: ReadonlySet<string> = new Set([
  'body',
  'headers',
  'html',
  'htmlbody',
  'text',
  'textbody',
]);
/** The words without which a body has nothing to hide: most bodies are never taken apart. */
const SUSPECT = /"(?:token|key|signing_?secret|secret|attachments?|content|download_url)"|\\u/i;

/**
 * A body fit for the log: JSON text, at most 16 KiB in UTF-8, or null for none. `isJson`: it is
 * JSON for certain, an answer or a body that was read. `isContentHidden`: the row outlives an email's content.
 */
export function logBody(
  text: string | null,
  { isJson = false, isContentHidden = false } = {},
): string | null {
  if (text === null || text === '') return null;
  const isSuspect = isContentHidden || SUSPECT.test(text);
  if (isJson && !isSuspect) return cutForLog(text);
  try {
    const value: unknown = JSON.parse(text);
    return cutForLog(
      isSuspect ? JSON.stringify(value, isContentHidden ? hideContent : hide) : text,
    );
  } catch {
    return `[${text.length} characters that are not JSON]`;
  }
}

/**
 * The same of a request from which `withoutContent` took html and text. Null where it is still too long to be kept
 * uncut, since nothing can be put back into half a text.
 */
export function logRest(
  rest: Readonly<Record<string, unknown>>,
  isContentHidden: boolean,
): string | null {
  const hiding = isContentHidden ? hideContentLeft : hide;
  // Megabytes of attachments are not written out only to be found worth hiding.
  const isSuspect = isContentHidden || rest['attachments'] !== undefined;
  let text = JSON.stringify(rest, isSuspect ? hiding : undefined);
  if (!isSuspect && SUSPECT.test(text)) text = JSON.stringify(rest, hiding);
  return cutForLog(text) === text ? text : null;
}

/** What was left out goes with its message; only the rest would outlive it. */
function hideContentLeft(key: string, value: unknown): unknown {
  return value === LEFT_OUT ? value : hideContent(key, value);
}

function hideContent(key: string, value: unknown): unknown {
  return value !== null && CONTENT_FIELDS.has(plain(key)) ? sizeOf(value) : hide(key, value);
}

/** In bodies of ours only an attachment has `content`. */
function hide(key: string, value: unknown): unknown {
  const name = plain(key);
  if (SECRET_FIELDS.has(name) && value !== null) return HIDDEN;
  if (name === 'downloadurl') return HIDDEN;
  if (name === 'content' && value !== null) return sizeOf(value);
  if (/^attachments?$/.test(name) && Array.isArray(value)) return value.map(describe);
  return value;
}

/** An attachment without members that no route knows: other services call the content `data` or `Content`. */
function describe(attachment: unknown): unknown {
  if (typeof attachment !== 'object' || attachment === null) return sizeOf(attachment);
  return Object.fromEntries(
    Object.entries(attachment).map(([key, value]) => [
      key,
      ATTACHMENT_FIELDS.has(plain(key)) ? value : sizeOf(value),
    ]),
  );
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll('_', '');
}

function sizeOf(value: unknown): string {
  if (typeof value === 'string') return `[hidden, ${value.length} characters]`;
  return HIDDEN;
}
