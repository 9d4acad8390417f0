/**
 * Text cut into short runs, for a substring index: what is stored of a row and what a query asks for.
 *
 * Promises that a row whose text contains the query holds every gram of the query, for queries of any length from one
 * character. The reverse is not true: a hit must be compared with its row. Marks represent exact values (an account,
 * a status) among the grams. Case is folded as `fold` does.
 */
import { createHash } from 'node:crypto';

/** Two tables a source: queries of one or two characters need runs shorter than three. */
export type GramTable = 'triples' | 'pairs';

export interface GramQuery {
  table: GramTable;
  /** FTS5 expressions, each of which every matching row fulfils. */
  terms: string[];
}

/** The form in which texts are compared. */
export function fold(text: string): string {
  return text.toLowerCase();
}

const MARK_BASE = 0xe000;
/** Marks that one indexer keeps in memory. */
const MARKS_KEPT = 10_000;

/** Gives the mark of an exact value of one kind. */
export type MarkOf = (kind: string, value: string | number) => string;

/**
 * Three private-use characters (36 bits of a digest) that stand for an exact value of one kind. Three, because that is
 * one gram of the trigram tokenizer.
 */
export const markOf: MarkOf = (kind, value) => {
  const bits = createHash('sha256').update(`${kind} ${value}`).digest().readUIntBE(0, 6);
  return String.fromCharCode(
    MARK_BASE + (bits & 0xfff),
    MARK_BASE + (Math.floor(bits / 0x1000) & 0xfff),
    MARK_BASE + (Math.floor(bits / 0x1000000) & 0xfff),
  );
};

/** `markOf` that remembers what it gave, for the many rows of few accounts that an indexer goes through. */
export function rememberingMarks(): MarkOf {
  const known = new Map<string, string>();
  return (kind, value) => {
    const name = `${kind} ${value}`;
    const mark = known.get(name) ?? markOf(kind, value);
    if (known.size >= MARKS_KEPT) known.clear();
    known.set(name, mark);
    return mark;
  };
}

/** The text for the table of triples; FTS5's trigram tokenizer cuts it. */
export function tripleText(rowMarks: readonly string[], folded: string): string {
  return `${rowMarks.join('\n')}\n${folded}`;
}

/**
 * FTS5's ascii tokenizer ends a token at every ASCII character but letters and digits; the others are
 * moved out of ASCII so that they can stand in a token.
 */
const TOKEN_CHARACTERS = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[a-z0-9]/.test(character) ? character : String.fromCharCode(code + 0x100);
});

function tokenCharacter(text: string, at: number): string {
  return TOKEN_CHARACTERS[text.charCodeAt(at)] ?? text.charAt(at);
}

/** The text for the table of pairs: every run of two, and the last character with a filler. */
export function pairText(rowMarks: readonly string[], folded: string): string {
  let out = rowMarks.join(' ');
  let previous = '';
  for (let at = 0; at < folded.length; at += 1) {
    const character = tokenCharacter(folded, at);
    if (previous !== '') out += ` ${previous}${character}`;
    previous = character;
  }
  return previous === '' ? out : `${out} ${previous}${tokenCharacter('\n', 0)}`;
}

/** What to ask the index for, for a folded query of at least one character, beside the marks. */
export function gramQuery(rowMarks: readonly string[], folded: string): GramQuery {
  const characters = Array.from(folded);
  const terms = rowMarks.map(quoted);
  if (characters.length >= 3) {
    const triples = new Set<string>();
    for (let at = 0; at + 3 <= characters.length; at += 1) {
      triples.add(characters.slice(at, at + 3).join(''));
    }
    return { table: 'triples', terms: [...terms, ...Array.from(triples, quoted)] };
  }
  const token = Array.from({ length: folded.length }, (_, at) => tokenCharacter(folded, at));
  if (token.length === 1)
    return { table: 'pairs', terms: [...terms, `${quoted(token[0] ?? '')}*`] };
  const pairs = token.slice(1).map((character, at) => quoted((token[at] ?? '') + character));
  return { table: 'pairs', terms: [...terms, ...pairs] };
}

function quoted(gram: string): string {
  return `"${gram.replaceAll('"', '""')}"`;
}
