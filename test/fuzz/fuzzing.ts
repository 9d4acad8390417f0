/**
 * Mutation fuzzing: texts of a corpus, changed by chance, go through a parser until its time is over.
 *
 * Promises that three things fail a target: a throw, a text that takes more than 100 ms, and memory that stays. Twenty
 * seconds for all targets together; FUZZ_SECONDS changes that. The seed of a failing text is in its error; SEED begins
 * with it.
 */
import { expect, test } from 'bun:test';
import { heapStats } from 'bun:jsc';
import { seeded, type Random } from '../mail/random.ts';

export const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 20);
const FIRST_SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
/** How many targets the files of this folder have: each gets its share of the time. */
const TARGETS = 13;
const MAX_MS = 100;
/** How often a slow text is read again: the machine may have been busy, a parser is slow each time. */
const TRIES = 5;
/** Live memory that a target may leave behind, in bytes: caches of the runtime and of the test itself. */
const MAX_GROWTH = 24 * 1024 * 1024;

/** What stumbles parsers, beside the texts of the corpus. */
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  '"',
  "'",
  '\\',
  '<',
  '>',
  '@',
  ':',
  ';',
  ',',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '=?',
  '?=',
  '=',
  '--',
  '#',
  '*',
  ' ',
  '\t',
  'ü',
  '🎉',
  '\ud800',
  '\u2028',
  '%',
  '\x7f',
  '\xff',
  '=\r\n',
  '=?utf-8?B?',
  '5.1.1',
  '550 ',
  '250-',
  'null',
  '1e999',
  '\\ud800',
  '__proto__',
];

export interface Fuzzed {
  corpus: readonly string[];
  /** Reads one text; throws when something about it is wrong. */
  read: (text: string) => void | Promise<void>;
}

/** A test that feeds `read` for its share of the time. */
export function fuzz(name: string, { corpus, read }: Fuzzed): void {
  test(
    name,
    async () => {
      for (const text of corpus) await read(text);
      const before = liveBytes();
      const until = performance.now() + (SECONDS * 1_000) / TARGETS;
      let seed = FIRST_SEED;
      for (; performance.now() < until; seed += 1) {
        const text = mutated(seeded(seed), corpus);
        const ms = await timed(name, seed, text, read);
        if (ms > MAX_MS) throw new Error(`${name}, SEED=${seed}: ${ms} ms for ${shown(text)}`);
      }
      expect(seed).toBeGreaterThan(FIRST_SEED);
      expect(liveBytes() - before).toBeLessThan(MAX_GROWTH);
    },
    SECONDS * 2_000 + 60_000,
  );
}

/** How long `read` takes, at the best of several times when the first was slow. */
async function timed(
  name: string,
  seed: number,
  text: string,
  read: Fuzzed['read'],
): Promise<number> {
  let best = Infinity;
  for (let count = 0; count < TRIES && best > MAX_MS; count += 1) {
    const began = performance.now();
    try {
      await read(text);
    } catch (cause) {
      throw new Error(`${name}, SEED=${seed}: ${String(cause)} for ${shown(text)}`, { cause });
    }
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

function mutated(random: Random, corpus: readonly string[]): string {
  let text = random.pick(corpus);
  for (let count = 1 + random.int(6); count > 0; count -= 1) {
    const at = random.int(text.length + 1);
    const size = random.int(random.chance(0.2) ? 400 : 6);
    const rest = text.slice(at + size);
    text = random.pick([
      () => text.slice(0, at) + rest,
      () => text.slice(0, at) + random.pick(TOKENS) + text.slice(at),
      () => text.slice(0, at) + random.pick(TOKENS).repeat(1 + random.int(200)) + rest,
      () => text.slice(0, at) + text.slice(at, at + size).repeat(3) + rest,
      () => text.slice(0, at) + String.fromCharCode(random.int(256)) + rest,
      () => text.slice(0, at) + random.pick(corpus).slice(0, 2_000) + rest,
    ])();
  }
  return text;
}

function liveBytes(): number {
  Bun.gc(true);
  return heapStats().heapSize;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 2_000));
}
