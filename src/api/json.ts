/**
 * JSON from strangers: stricter than `JSON.parse`, which keeps the last of two equal keys without a word.
 *
 * Promises that what it returns is well-formed Unicode, nested at most `MAX_DEPTH` deep, without
 * duplicate keys, `__proto__` or numbers that lose digits. Fails with ApiError: 400 for bytes that are not
 * JSON in UTF-8, 422 with every issue otherwise. Linear in the size of the body; strings are skipped whole.
 */
import { validationFailed, type ApiError, type Issue } from '../base/errors.ts';

/** Levels of nesting; the deepest shape of the interface has six. */
const MAX_DEPTH = 32;
const MAX_ISSUES = 100;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text of a body. Throws ApiError `validation_failed` (400). */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw notJson('The body is not valid UTF-8.');
  }
}

/** The value in `text`. Throws ApiError `validation_failed` (400 or 422). */
export function parseJson(text: string): unknown {
  const issues: Issue[] = [];
  inspect(text, issues);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson('The body is not valid JSON.');
  }
  // An escape is the only way for a surrogate into a string that was valid UTF-8.
  if (/\\u[dD][89a-fA-F]/.test(text)) findSurrogates(value, '', issues);
  if (issues.length > 0) throw validationFailed(issues);
  return value;
}

function notJson(message: string): ApiError {
  return validationFailed([{ path: '', message }], { status: 400 });
}

interface Level {
  /** Null inside a list. */
  keys: Set<string> | null;
  /** Key or place of the value that comes next. */
  at: string | number;
  isKeyNext: boolean;
}

/** Walks over the structure without building it. Says nothing about syntax: the parser does. */
function inspect(text: string, issues: Issue[]): void {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = endOfString(text, at);
        if (level?.isKeyNext === true) noteKey(text.slice(at, end + 1), level, levels, issues);
        at = end;
        break;
      }
      case 0x7b: // {
      case 0x5b: {
        // [
        const isObject = text[at] === '{';
        if (levels.length >= MAX_DEPTH) {
          throw validationFailed([
            { path: '', message: `The body is nested deeper than ${MAX_DEPTH} levels.` },
          ]);
        }
        levels.push({
          keys: isObject ? new Set() : null,
          at: isObject ? '' : 0,
          isKeyNext: isObject,
        });
        break;
      }
      case 0x7d: // }
      case 0x5d: // ]
        levels.pop();
        break;
      case 0x2c: // ,
        if (level === undefined) break;
        if (typeof level.at === 'number') level.at += 1;
        else level.isKeyNext = true;
        break;
      case 0x2d: // -
      case 0x30:
      case 0x31:
      case 0x32:
      case 0x33:
      case 0x34:
      case 0x35:
      case 0x36:
      case 0x37:
      case 0x38:
      case 0x39: {
        const end = endOfNumber(text, at);
        // Shorter ones are exact in any spelling (2^53 has 16 digits, 1e16 has four characters).
        if (end - at > 3 && !isExact(text.slice(at, end))) {
          add(issues, levels, 'A number is too large to be exact.');
        }
        at = end - 1;
        break;
      }
    }
  }
}

function noteKey(literal: string, level: Level, levels: Level[], issues: Issue[]): void {
  const key = keyOf(literal);
  level.at = key;
  level.isKeyNext = false;
  if (key === '__proto__') {
    add(issues, levels, 'The key __proto__ is not allowed.');
  } else if (level.keys?.has(key) === true) {
    add(issues, levels, `The key ${shown(key)} stands here twice.`);
  }
  level.keys?.add(key);
}

function add(issues: Issue[], levels: readonly Level[], message: string): void {
  if (issues.length < MAX_ISSUES) issues.push({ path: pathOf(levels), message });
}

/** Two spellings of one key are one key: escapes are undone. */
function keyOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}

/** Place of the closing quotation mark, or the end of the text. */
function endOfString(text: string, open: number): number {
  let end = open;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let back = end - 1;
    while (text.charCodeAt(back) === 0x5c) back -= 1;
    if ((end - back) % 2 === 1) return end;
  }
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    const isPart =
      (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2d || code === 0x2b;
    if (!isPart && code !== 0x65 && code !== 0x45) break;
  }
  return end;
}

function isExact(literal: string): boolean {
  return Math.abs(Number(literal)) <= Number.MAX_SAFE_INTEGER;
}

function findSurrogates(value: unknown, path: string, issues: Issue[]): void {
  if (issues.length >= MAX_ISSUES) return;
  if (typeof value === 'string') {
    if (!value.isWellFormed()) {
      issues.push({ path, message: `${path || 'The body'} contains an unpaired surrogate.` });
    }
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) findSurrogates(item, `${path}[${at}]`, issues);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const inner = joinPath(path, shown(key.toWellFormed()));
      if (!key.isWellFormed()) {
        issues.push({ path: inner, message: 'A key contains an unpaired surrogate.' });
      }
      findSurrogates(item, inner, issues);
    }
  }
}

function pathOf(levels: readonly Level[]): string {
  let path = '';
  for (const { at } of levels) {
    path = typeof at === 'number' ? `${path}[${at}]` : joinPath(path, shown(at));
  }
  return path;
}

/** `path.key`, without a dot in front of the first. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** A key fit for an answer: a stranger's 64 KB are not sent back. */
export function shown(key: string): string {
  const plain = key.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\u{fffd}');
  return plain.length <= 80 ? plain : `${plain.slice(0, 80)}…`;
}
