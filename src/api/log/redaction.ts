/**
 * Which parts of request and response bodies the log may keep.
 *
 * Promises that no key (in whatever field), secret or attachment content reaches a log row, nor the html, text, headers and file names of an email
 * where they may only be kept for a shorter time than the row, and that bodies are cut at 16 KiB. A body that is not
 * JSON is not kept at all, since nothing could be removed from it.
 */
import { hideKeys } from '../../base/key-text.ts';
import { cutForLog, LEFT_OUT, MAX_LOG_BYTES } from '../../flow/content/logged-request.ts';

const HIDDEN = '[hidden]';
/** In lower case without underscores: a misspelled field is refused, but its value may be just as secret. */
const SECRET_FIELDS: ReadonlySet<string> = new Set(['token', 'key', 'signingsecret', 'secret']);
/** Fields of an attachment other than its content. */
const ATTACHMENT_FIELDS: ReadonlySet<string> = new Set([
  'content',
  'contentid',
  'contenttype',
  'filename',
  'inlinecontentid',
  'path',
]);
/**
 * Fields with content of an email and of its attachments, also of other services: they are refused, but their values
 * are as private.
 */
const CONTENT_FIELDS: ReadonlySet<string> = new Set([
  'body',
  'contentid',
  'filename',
  'headers',
  'html',
  'htmlbody',
  'inlinecontentid',
  'path',
  'text',
  'textbody',
]);
/** What an email may say at its top beside content. Everything else may be content under a misspelled name. */
const EMAIL_FIELDS: ReadonlySet<string> = new Set([
  'attachments',
  'bcc',
  'cc',
  'from',
  'replyto',
  'scheduledat',
  'subject',
  'tags',
  'to',
]);
/** A body without any of these words has nothing to hide: most bodies need not be parsed. */
const SUSPECT = /"(?:token|key|signing_?secret|secret|attachments?|content|download_url)"|\\u/i;

/**
 * A body for the log: JSON text, at most 16 KiB in UTF-8, or null for none. `isJson`: the text is known to be JSON, a
 * response or a body that was parsed; `value` is what it says, where that is at hand. `isContentHidden`: the row is kept longer than the content of emails;
 * `isEmail`: the request sends some, so that what has another name than the fields of an email is hidden too.
 */
export function logBody(
  text: string | null,
  {
    isJson = false,
    isContentHidden = false,
    isEmail = false,
    value,
  }: { isJson?: boolean; isContentHidden?: boolean; isEmail?: boolean; value?: unknown } = {},
): string | null {
  if (text === null || text === '') return null;
  const isSuspect = isContentHidden || SUSPECT.test(text);
  if (isJson && !isSuspect) return hideKeys(cutForLog(text));
  try {
    const all: unknown = value ?? JSON.parse(text);
    const known = isEmail && isContentHidden ? withoutOthers(all) : all;
    const shown = isSuspect ? JSON.stringify(known, isContentHidden ? hideContent : hide) : text;
    return hideKeys(cutForLog(shown));
  } catch {
    return `[${text.length} characters that are not JSON]`;
  }
}

/**
 * The same for a large body, of which only the value is at hand: each text in it is cut before anything is written, since
 * all of them together may be 14 MB.
 */
export function logLargeBody(
  value: unknown,
  { isContentHidden, isEmail }: { isContentHidden: boolean; isEmail: boolean },
): string {
  const known = isEmail && isContentHidden ? withoutOthers(value) : value;
  const hiding = isContentHidden ? hideContent : hide;
  const shortly = (key: string, field: unknown): unknown => {
    const shown = hiding(key, field);
    return typeof shown === 'string' ? shown.slice(0, MAX_LOG_BYTES) : shown;
  };
  return hideKeys(cutForLog(JSON.stringify(known, shortly)));
}

/**
 * The same for a request from which `withoutContent` removed html and text. Null where it is still too long to be kept
 * whole, since nothing can be put back into a text that was cut.
 */
export function logRest(
  rest: Readonly<Record<string, unknown>>,
  isContentHidden: boolean,
): string | null {
  const hiding = isContentHidden ? hideContentLeft : hide;
  // Attachments always hide something: megabytes of them need not be written out first.
  const isSuspect = isContentHidden || rest['attachments'] !== undefined;
  let text = JSON.stringify(rest, isSuspect ? hiding : undefined);
  if (!isSuspect && SUSPECT.test(text)) text = JSON.stringify(rest, hiding);
  return cutForLog(text) === text ? hideKeys(text) : null;
}

/** What was left out is deleted with its message; the rest is kept longer. */
function hideContentLeft(key: string, value: unknown): unknown {
  return value === LEFT_OUT ? value : hideContent(key, value);
}

function hideContent(key: string, value: unknown): unknown {
  return value !== null && CONTENT_FIELDS.has(plain(key)) ? sizeOf(value) : hide(key, value);
}

/** One email or a list of them, with the values of fields hidden that no email has. */
function withoutOthers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOthers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      const name = plain(key);
      const isKnown = EMAIL_FIELDS.has(name) || CONTENT_FIELDS.has(name) || field === null;
      return [key, isKnown ? field : sizeOf(field)];
    }),
  );
}

/** Only attachments have a field `content` in this API. */
function hide(key: string, value: unknown): unknown {
  const name = plain(key);
  if (SECRET_FIELDS.has(name) && value !== null) return HIDDEN;
  if (name === 'downloadurl') return HIDDEN;
  if (name === 'content' && value !== null) return sizeOf(value);
  if (/^attachments?$/.test(name) && Array.isArray(value)) return value.map(describe);
  return value;
}

/** An attachment with unknown fields hidden: other services call the content `data` or `Content`. */
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
  // A file of a large body.
  if (value instanceof Uint8Array) return `[hidden, ${value.length} bytes]`;
  return HIDDEN;
}
