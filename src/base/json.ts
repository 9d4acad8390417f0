/**
 * Parses JSON from clients: stricter than `JSON.parse`, which silently keeps the last of two equal keys.
 *
 * Promises well-formed Unicode, at most `MAX_DEPTH` levels of nesting, no duplicate keys, no `__proto__`, no numbers that
 * lose digits, and no more members, nodes and numbers than `MAX_MEMBERS`, `MAX_NODES` and `MAX_NUMBERS`, which are
 * counted before anything is built: what follows works on a bounded structure. Fails with `ApiError`: 400 for bytes that are not JSON in UTF-8, 422 with every issue otherwise. Takes time
 * linear in the size of the body.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { validationFailed, type ApiError, type Issue } from './errors.ts';

/** Levels of nesting; the deepest shape of the API has six. */
const MAX_DEPTH = 32;
/** Of one object; no object of the API may have more than a hundred. */
const MAX_MEMBERS = 1_000;
/**
 * Objects, lists and texts in one body, keys included; the largest batch has some 60,000. Each takes 50 bytes or more
 * once it is parsed, and as few as three in the body: 14 MB of empty lists took 800 MB. Numbers are cheap.
 */
const MAX_NODES = 250_000;
/** A file of the largest body has four million of them, unless nearly all of its bytes are below 100. */
const MAX_NUMBERS = 5_000_000;
const MAX_ISSUES = 100;
/** Characters after which other work is let in. */
const STRETCH = 1_048_576;
/** Quotation marks of one text that are searched for, before its characters are read one by one. */
const MAX_TRIES = 1_000;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text of a body. Throws ApiError `validation_failed` (400). */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw notJson('The body must be valid UTF-8.');
  }
}

/**
 * The value in `text`. Between two stretches of a long text other work is let in. Rejects with ApiError
 * `validation_failed` (400 or 422).
 */
export async function parseJson(text: string): Promise<unknown> {
  const inspection = new Inspection(text);
  for (let end = STRETCH; inspection.run(end); end += STRETCH) await nextTick();
  const { issues } = inspection;
  if (text.length > STRETCH) await nextTick();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson('The body must be valid JSON.');
  }
  if (text.length > STRETCH) await nextTick();
  // In valid UTF-8 only an escape can produce an unpaired surrogate.
  if (text.includes('\\u') && /\\u[dD][89a-fA-F]/.test(text)) findSurrogates(value, '', issues);
  if (issues.length > 0) throw validationFailed(issues);
  return value;
}

function notJson(message: string): ApiError {
  return validationFailed([{ path: '', message }], { status: 400 });
}

interface Level {
  /** Null inside a list. */
  keys: Set<string> | null;
  /** Key or index of the next value. */
  at: string | number;
  isKeyNext: boolean;
}

/** Scans the structure without building it. Ignores syntax errors: the parser finds them. */
class Inspection {
  readonly issues: Issue[] = [];
  readonly #text: string;
  readonly #levels: Level[] = [];
  #at = 0;
  #nodes = 0;
  #numbers = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Goes on until about `end`; false at the end of the text. Throws where a limit is passed. */
  run(end: number): boolean {
    const text = this.#text;
    let level = this.#levels.at(-1);
    let at = this.#at;
    for (; at < text.length && at < end; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 0x22) {
        this.#count();
        const close = endOfString(text, at);
        if (level?.isKeyNext === true) this.#note(text.slice(at, close + 1), level);
        at = close;
      } else if (code === 0x2c && level !== undefined) {
        if (typeof level.at === 'number') level.at += 1;
        else level.isKeyNext = true;
      } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        const close = endOfNumber(text, at);
        this.#numbers += 1;
        // Shorter ones are always exact (2^53 has 16 digits, 1e16 has four characters).
        if (close - at > 3) this.#checkNumber(text.slice(at, close));
        at = close - 1;
      } else if (code === 0x7b || code === 0x5b) {
        level = this.#open(code === 0x7b);
      } else if (code === 0x7d || code === 0x5d) {
        this.#levels.pop();
        level = this.#levels.at(-1);
      }
    }
    this.#at = at;
    if (this.#numbers > MAX_NUMBERS) {
      const most = MAX_NUMBERS.toLocaleString('en');
      throw refused(`The body must have at most ${most} numbers. Send files as base64.`);
    }
    return at < text.length;
  }

  #count(): void {
    this.#nodes += 1;
    if (this.#nodes <= MAX_NODES) return;
    const most = MAX_NODES.toLocaleString('en');
    throw refused(`The body must have at most ${most} objects, lists and texts.`);
  }

  #open(isObject: boolean): Level {
    if (this.#levels.length >= MAX_DEPTH) {
      throw refused(`The body must be nested at most ${MAX_DEPTH} levels deep.`);
    }
    this.#count();
    const level = {
      keys: isObject ? new Set<string>() : null,
      at: isObject ? '' : 0,
      isKeyNext: isObject,
    };
    this.#levels.push(level);
    return level;
  }

  #note(literal: string, level: Level): void {
    const key = keyOf(literal);
    level.at = key;
    level.isKeyNext = false;
    if (key === '__proto__') {
      add(this.issues, this.#levels, 'The key __proto__ is not allowed.');
    } else if (level.keys?.has(key) === true) {
      add(this.issues, this.#levels, `The key ${shown(key)} appears twice.`);
    }
    level.keys?.add(key);
    if ((level.keys?.size ?? 0) > MAX_MEMBERS) {
      throw refused(`An object must have at most ${MAX_MEMBERS} fields.`);
    }
  }

  #checkNumber(literal: string): void {
    if (isExact(literal)) return;
    add(
      this.issues,
      this.#levels,
      'A number must be between -9007199254740991 and 9007199254740991.',
    );
  }
}

function refused(message: string): ApiError {
  return validationFailed([{ path: '', message }]);
}

function add(issues: Issue[], levels: readonly Level[], message: string): void {
  if (issues.length < MAX_ISSUES) issues.push({ path: pathOf(levels), message });
}

/** The key of a literal, with escapes decoded: two spellings of one key are equal. */
function keyOf(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}

/** Index of the quotation mark that closes the one at `open`, or the end of the text. Linear time. */
export function endOfString(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (end === -1) return text.length;
    let back = end - 1;
    while (text.charCodeAt(back) === 0x5c) back -= 1;
    if ((end - back) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  // A search for each of very many quotation marks costs more than a look at every character.
  for (let at = open + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at;
  }
  return text.length;
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
      issues.push({
        path,
        message: `${path || 'The body'} must be valid Unicode: it contains an unpaired surrogate.`,
      });
    }
  } else if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      // A file may be millions of numbers.
      if (typeof value[at] !== 'number') findSurrogates(value[at], `${path}[${at}]`, issues);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const inner = joinPath(path, shown(key.toWellFormed()));
      if (!key.isWellFormed()) {
        issues.push({
          path: inner,
          message: 'A key must be valid Unicode: it contains an unpaired surrogate.',
        });
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

/** A key for an error message: without control characters, and cut, since a client may send 64 KB. */
export function shown(key: string): string {
  const plain = key.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\u{fffd}');
  return plain.length <= 80 ? plain : `${plain.slice(0, 80)}…`;
}

/** An object of JSON, no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
