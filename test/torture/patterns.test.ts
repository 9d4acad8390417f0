/**
 * Every regular expression of the source takes linear time (docs/reliability.md R85): each is measured on growing inputs
 * that are hard for it, and a time that grows faster than the input fails with the expression and the input.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { buildingLines, type Built } from './built-patterns.ts';
import { hardInputs, literalsIn } from './pattern-inputs.ts';

const SRC = join(import.meta.dir, '../../src');
const LENGTHS = [1_000, 4_000, 16_000, 64_000];
/** Shorter times are noise. */
const LEAST_MS = 4;
/** Linear time grows fourfold from one length to the next, quadratic time sixteenfold. */
const MOST_GROWTH = 8;
/** Growth that comes to so much need not be seen at two lengths. */
const MOST_MS = 200;
/** A time of so much is not measured again within one look. */
const LONG_MS = 2_000;
/** Growth counts when it is seen each time: a busy machine adds to one time, seldom to all. */
const LOOKS = 3;

interface Literal {
  file: string;
  source: string;
  flags: string;
}

async function literals(): Promise<Literal[]> {
  const found = new Map<string, Literal>();
  for await (const file of new Bun.Glob('**/*.ts').scan(SRC)) {
    const text = await Bun.file(join(SRC, file)).text();
    for (const [source, flags] of literalsIn(text)) {
      found.set(`${source}/${flags}`, { file, source, flags: flags.replace(/[gy]/g, '') });
    }
  }
  return [...found.values()].sort((one, other) => (one.file < other.file ? -1 : 1));
}

/** The best of up to `tries`, in milliseconds. */
function timeOf(expression: RegExp, input: string, tries: number): number {
  let best = Infinity;
  for (let n = 0; n < tries; n += 1) {
    const start = performance.now();
    expression.test(input);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** The lengths and times that grow too fast, each time they are looked at; null for linear time. */
function growth(expression: RegExp, make: (length: number) => string): string | null {
  let found: string | null = null;
  for (let look = 0; look < LOOKS; look += 1) {
    found = growthOnce(expression, make);
    if (found === null) return null;
  }
  return found;
}

function growthOnce(expression: RegExp, make: (length: number) => string): string | null {
  let isSuspect = false;
  for (const [at, length] of LENGTHS.entries()) {
    const input = make(length);
    let time = timeOf(expression, input, 1);
    const shorter = LENGTHS[at - 1];
    if (time <= LEAST_MS || shorter === undefined) continue;
    let before = timeOf(expression, make(shorter), 3);
    if (time < LONG_MS) time = Math.min(time, timeOf(expression, input, 2));
    // A pause in the shorter time would hide the growth.
    if (time <= MOST_GROWTH * before) {
      before = Math.min(before, timeOf(expression, make(shorter), 8));
    }
    if (time <= MOST_GROWTH * before) return null;
    // Once may be the step to a slower interpreter, or the end of a bounded repetition.
    if (isSuspect || time > MOST_MS) {
      return `${shorter}: ${before.toFixed(2)} ms, ${length}: ${time.toFixed(2)} ms`;
    }
    isSuspect = true;
  }
  return null;
}

/** The expression with the first input for which it takes more than linear time; null for none. */
function slownessOf(line: string, source: string, flags: string): string | null {
  const expression = new RegExp(source, flags);
  for (const make of hardInputs(source, flags)) {
    const found = growth(expression, make);
    if (found !== null)
      return `${line}: /${source}/${flags} on ${JSON.stringify(make(60))}: ${found}`;
  }
  return null;
}

test('every regular expression takes linear time', async () => {
  const all = await literals();
  expect(all.length).toBeGreaterThan(200);
  const slow: string[] = [];
  for (const { file, source, flags } of all) {
    const found = slownessOf(file, source, flags);
    if (found !== null) slow.push(found);
  }
  expect(slow).toEqual([]);
}, 480_000);

test('every regular expression that is built, and every pattern of a schema, takes linear time', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'built-patterns.ts')], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const built = (await new Response(child.stdout).json()) as Built[];
  // A line that is not reached there has to be called there.
  expect(await buildingLines()).toEqual(
    [...new Set(built.map(({ line }) => line))].filter((line) => line !== 'schema').sort(),
  );
  expect(built.filter(({ line }) => line === 'schema').length).toBeGreaterThan(4);
  const slow = built
    .map(({ line, source, flags }) => slownessOf(line, source, flags.replace(/[gy]/g, '')))
    .filter((found) => found !== null);
  expect(slow).toEqual([]);
}, 480_000);

test('the measure sees quadratic and cubic time, and lets linear time pass', () => {
  // Also here a busy machine may spoil one round, not three.
  const isSlow = (source: string): boolean =>
    Array.from({ length: LOOKS }).some(() =>
      hardInputs(source, '').some((make) => growth(new RegExp(source), make) !== null),
    );
  for (const source of ['a+$', 'x.*y', '(?:post|x\\S*)\\S*err\\S*=', '"(?:[^"\\\\]|\\\\.)*"']) {
    expect([source, isSlow(source)]).toEqual([source, true]);
  }
  for (const source of ['^a+$', 'x.{0,40}y', '[^a-z]', '\\bspam\\b']) {
    expect([source, isSlow(source)]).toEqual([source, false]);
  }
}, 240_000);
