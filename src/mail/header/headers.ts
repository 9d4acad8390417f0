/**
 * Header fields as RFC 5322 and RFC 2047 write them: what is allowed in them, and how they are written.
 *
 * Promises that a value which passed its check becomes exactly one field: no control character, no line
 * over 998 bytes, no continuation line of white space alone. Checks return a reason in words that
 * follow a field's name ("must not contain …"); they never throw.
 */

/** Fields the service writes itself; a custom header may not replace them (docs/decisions.md D18). Lower case. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'dkim-signature',
  'received',
  'return-path',
  'sender',
  'feedback-id',
]);

/** Names that would reach an object's prototype in code that uses an object as a map (CVE-2026-34752). */
const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

// oxlint-disable-next-line no-control-regex -- finding control characters is the point
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;
const CONTROLS = new RegExp(CONTROL, 'g');
const CONTROL_RUNS = new RegExp(`${CONTROL.source}+`, 'g');

/** What makes text run backwards whatever its letters: a file name or an amount can be shown as another (U+202D, U+202E). */
const OVERRIDES = /[\u202d\u202e]/g;

/** Longest field name we write; the fold of its first line needs space behind it. */
const MAX_NAME_LENGTH = 100;
/** Longest custom value in characters. Postfix cuts a header at 102,400 bytes, others much earlier. */
const MAX_VALUE_LENGTH = 10_000;
/** Longest stretch that cannot be folded, in bytes: a line holds 998 (RFC 5322 section 2.1.1). */
const MAX_RUN_LENGTH = 850;
/** Lines are folded at about this many characters (RFC 5322 section 2.1.1: at most 78). */
const FOLD_AT = 76;
/** Longest encoded word (RFC 2047 section 2). */
const MAX_WORD_LENGTH = 75;

/** Whether `name` is a field name of RFC 5322 section 3.6.8 that is safe to carry through maps. */
export function isHeaderName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && /^[!-9;-~]+$/.test(name) && !isPrototypeName(name);
}

/** Whether the name of a header or tag is also a member of every object. */
export function isPrototypeName(name: string): boolean {
  return PROTOTYPE_NAMES.has(name.toLowerCase());
}

/** Whether the service writes this field itself (`Content-*` included). */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED_HEADERS.has(lower) || lower.startsWith('content-');
}

/**
 * Why `text` is not allowed in an address, header, tag, file name or URL; null when it is.
 * Refuses C0, DEL, C1, U+2028, U+2029 and unpaired surrogates; TAB only where `mayTab` is not set.
 */
export function checkCharacters(text: string, mayTab = false): string | null {
  for (const match of CONTROL.test(text) ? text.matchAll(CONTROLS) : []) {
    const character = match[0];
    if (character === '\t' && mayTab) continue;
    if (character === '\r' || character === '\n') return 'must not contain a line break';
    if (character === '\0') return 'must not contain NUL';
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `must not contain the control character U+${code}`;
  }
  return text.isWellFormed() ? null : 'must not contain an unpaired surrogate';
}

/**
 * Decoded text as a reader may get it: runs of control characters become one space, direction overrides go. TABs stay,
 * and so do the marks, embeddings and isolates that right-to-left text needs.
 */
export function readableText(text: string): string {
  const shown = text.toWellFormed().replace(OVERRIDES, '');
  return CONTROL.test(shown.replaceAll('\t', ' ')) ? shown.replace(CONTROL_RUNS, ' ') : shown;
}

/** Why `value` is not allowed as a custom header's value; null when it is. */
export function checkHeaderValue(value: string): string | null {
  const reason = checkCharacters(value, true);
  if (reason !== null) return reason;
  if (value.length > MAX_VALUE_LENGTH) {
    return `must not be longer than ${MAX_VALUE_LENGTH} characters`;
  }
  if (needsEncoding(value)) return null;
  if (hasLongRun(value)) {
    return `must have a single space at least every ${MAX_RUN_LENGTH} characters, so that it can be folded`;
  }
  return null;
}

/**
 * One field with its closing CRLF, folded (RFC 5322 section 2.2.3). `value` is already in wire form.
 * Throws when name or value was not checked before: the last guard against header injection.
 */
export function writeField(name: string, value: string): string {
  if (!isHeaderName(name)) throw new Error(`not a header name: ${JSON.stringify(name)}`);
  const reason = checkCharacters(value, true);
  if (reason !== null) throw new Error(`header ${name} ${reason}`);
  return foldField(name, value);
}

/** Like `writeField`, for a field that others wrote and whose bytes were checked. Never throws. */
export function foldField(name: string, value: string): string {
  const trimmed = value.trim();
  if (trimmed === '') return `${name}:\r\n`;
  if (name.length + trimmed.length + 2 <= FOLD_AT) return `${name}: ${trimmed}\r\n`;
  const lines: string[] = [];
  let line = `${name}:`;
  for (const piece of foldable(` ${trimmed}`)) {
    // The first piece stays with the name: a line that ends at the colon is legal, but some readers misread it.
    if (line.length + piece.length > FOLD_AT && line !== `${name}:`) {
      lines.push(line);
      line = piece;
    } else {
      line += piece;
    }
  }
  lines.push(line);
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * Unstructured text (a subject, a custom value) in wire form: as it is, or as encoded words (RFC 2047).
 * `column` is where the text begins on its line.
 */
export function encodeText(text: string, column = 0): string {
  return needsEncoding(text) || hasLongRun(text) ? encodeWords(text, column) : text;
}

/**
 * A display name in wire form: atoms, a quoted string, or encoded words (RFC 5322 section 3.2.5, RFC 2047 section 5).
 */
export function encodePhrase(name: string): string {
  if (needsEncoding(name)) return encodeWords(name, 0);
  if (/^[\w!#$%&'*+\-/=?^`{|}~]+(?: [\w!#$%&'*+\-/=?^`{|}~]+)*$/.test(name)) return name;
  return `"${name.replace(/["\\]/g, '\\$&')}"`;
}

/** Whether text is not plain ASCII, or would be read as an encoded word. */
function needsEncoding(text: string): boolean {
  return /[^\t\x20-\x7e]|=\?/.test(text);
}

/**
 * Splits at the positions where a fold can be undone exactly: before a single space between two visible
 * characters. The pieces joined give `text` again; all but the first begin with that space.
 */
function foldable(text: string): string[] {
  return text.split(/(?<=[^ \t])(?= [^ \t])/);
}

function hasLongRun(text: string): boolean {
  return (
    text.length > MAX_RUN_LENGTH && foldable(text).some((piece) => piece.length > MAX_RUN_LENGTH)
  );
}

/**
 * The whole text as encoded words in UTF-8, each a whole number of characters (RFC 2047 section 5),
 * in B or Q, whichever is shorter. Q uses only characters that are also allowed in a phrase.
 */
function encodeWords(text: string, column: number): string {
  const isQ = encodeQ(text).length <= Math.ceil(Buffer.byteLength(text) / 3) * 4;
  const prefix = isQ ? '=?UTF-8?Q?' : '=?UTF-8?B?';
  // The first word shares its line with the name (RFC 2047 section 2: 76 characters a line).
  let left = Math.max(MAX_WORD_LENGTH - column, 40) - prefix.length - 2;
  const words: string[] = [];
  let part = '';
  let size = 0;
  for (const character of text) {
    const coded = isQ ? encodeQ(character) : character;
    const cost = isQ ? coded.length : Buffer.byteLength(character);
    // Three bytes are four characters of base64.
    if (size + cost > (isQ ? left : Math.floor(left / 4) * 3)) {
      words.push(part);
      left = MAX_WORD_LENGTH - prefix.length - 2;
      part = '';
      size = 0;
    }
    part += coded;
    size += cost;
  }
  words.push(part);
  return words
    .map((word) => `${prefix}${isQ ? word : Buffer.from(word).toString('base64')}?=`)
    .join(' ');
}

function encodeQ(text: string): string {
  if (/^[A-Za-z0-9!*+\-/]*$/.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (/[A-Za-z0-9!*+\-/]/.test(character)) out += character;
    else if (byte === 0x20) out += '_';
    else out += `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}
