/**
 * What rspamd says of a message: its answer to `POST /checkv2`, read once.
 *
 * The answer comes from another program and repeats words of the message, which anyone may have written. Promises that
 * a score has bounded numbers, texts and lists, without control characters, whatever came in; null for what is no
 * answer of rspamd. Never throws.
 */
import { Type, type Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { readableText } from '../../mail/header/headers.ts';

/** The most rules of a score; rspamd has some 700 rules, and finds 20 to 40 in a message. */
const MAX_RULES = 100;
/** More than this in an answer, and it is not read. */
const MAX_READ_RULES = 1_000;
const MAX_NAME_LENGTH = 100;
const MAX_WORDS_LENGTH = 300;
const MAX_OPTIONS = 3;
/** rspamd's own answers have 6 levels. Very deep ones keep the parser busy until its stack is full. */
const MAX_DEPTH = 20;

const Score = Type.Number({ minimum: -1_000_000, maximum: 1_000_000 });

const AnswerShape = Type.Object({
  score: Score,
  // Absent where the operator of rspamd refuses nothing.
  required_score: Type.Optional(Type.Union([Score, Type.Null()])),
  action: Type.String(),
  is_skipped: Type.Optional(Type.Boolean()),
  // Each is checked by itself, after they were counted.
  symbols: Type.Object({}),
});

const SymbolShape = Type.Object({
  score: Score,
  description: Type.Optional(Type.String()),
  options: Type.Optional(Type.Array(Type.String())),
});

/** A rule that says something of the message. */
export interface SpamRule {
  name: string;
  points: number;
  /** Empty where the rule has none. */
  description: string;
  /** What it found, such as host names. */
  options: string[];
}

export interface SpamScore {
  points: number;
  /** The points from which rspamd refuses; null where it never does. */
  required: number | null;
  /** rspamd's own word: `no action`, `greylist`, `add header`, `reject` … */
  action: string;
  /** A setting or a test text decided; the other rules were not asked. */
  isPartial: boolean;
  /** By weight, whether it counts for or against the message. */
  rules: SpamRule[];
  /** Rules that are left out. */
  more: number;
}

/** The score in an answer's body; null when it is none. */
export function readSpamAnswer(body: Buffer): SpamScore | null {
  const answer = parse(body);
  if (!Value.Check(AnswerShape, answer)) return null;
  const entries = Object.entries<unknown>(answer.symbols);
  if (entries.length > MAX_READ_RULES) return null;
  const found: [name: string, symbol: Static<typeof SymbolShape>][] = [];
  for (const [name, symbol] of entries) {
    if (!Value.Check(SymbolShape, symbol)) return null;
    found.push([name, symbol]);
  }
  // The sort is stable: of equal weight, rspamd's own order.
  found.sort(([, a], [, b]) => Math.abs(b.score) - Math.abs(a.score));
  return {
    points: answer.score,
    required: answer.required_score ?? null,
    action: words(answer.action, MAX_NAME_LENGTH),
    isPartial: answer.is_skipped === true,
    rules: found.slice(0, MAX_RULES).map(([name, { score, description = '', options = [] }]) => ({
      name: words(name, MAX_NAME_LENGTH),
      points: score,
      description: words(description, MAX_WORDS_LENGTH),
      options: options.slice(0, MAX_OPTIONS).map((option) => words(option, MAX_NAME_LENGTH)),
    })),
    more: Math.max(0, found.length - MAX_RULES),
  };
}

/** Null for what is no JSON. */
function parse(body: Buffer): unknown {
  if (isDeep(body)) return null;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Whether more than `MAX_DEPTH` lists and objects are open at once. */
function isDeep(body: Buffer): boolean {
  let [depth, isText] = [0, false];
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function words(text: string, maxLength: number): string {
  const shown = readableText(text.slice(0, maxLength)).trim();
  return text.length > maxLength ? `${shown}…` : shown;
}
