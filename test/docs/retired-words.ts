/**
 * The words that the code base gave up, each with what to say instead, and the phrases in which one is still right.
 *
 * Read by `words.test.ts`. A pattern sees text in which names are taken apart: `placesLeft` and `places_left` read as
 * `places left`. A phrase that is allowed is taken out before the patterns look, so it must be exact.
 */

export interface RetiredWord {
  /** Looked for in lower-case text whose names are taken apart. */
  pattern: RegExp;
  /** What to say instead, shown by the failing test. */
  instead: string;
  /** Files in which the word has its one other meaning. */
  exceptIn?: RegExp;
}

export const RETIRED_WORDS: readonly RetiredWord[] = [
  {
    pattern: /\bplace[sd]?\b/,
    instead: 'destination or site (where mail goes), position (in a list), location, folder, line',
  },
  { pattern: /\bstrangers?\b/, instead: 'unproven site; anyone, an unauthenticated client' },
  {
    pattern: /\brooms?\b/,
    instead: 'capacity, free slots, free space',
    // The rooms of the code base: documents and the test that keeps them apart.
    exceptIn: /^(docs\/|CONTRIBUTING\.md$|README\.md$|test\/floors\.test\.ts$)/,
  },
  { pattern: /\bseats?\b/, instead: 'slot' },
  { pattern: /\bheld\b/, instead: 'throttled; kept, retained' },
  { pattern: /\bgiven less\b/, instead: 'throttled; to users: slowed down' },
  { pattern: /\bdoors?\b/, instead: 'listener, API, submission, dashboard sign-in' },
  { pattern: /\bjudg(e[sd]?|ing|e?ments?)\b/, instead: 'classify, evaluate, decide; verdict' },
  {
    pattern:
      /\b(in|its|his|their|whose|each|every|one|another|next|first|last) turns?\b|\bturns?\b(?= ?[.,;:)(])/,
    instead: 'scheduler, next, round robin, pick; tick (of the event loop)',
  },
  { pattern: /\bmend(s|ed|ing)?\b/, instead: 'fix, repair' },
  { pattern: /\bfares?\b/, instead: 'another sentence' },
  { pattern: /\bwish(es|ed)?\b/, instead: 'request, option' },
  { pattern: /\bkin\b/, instead: 'and similar' },
  { pattern: /\bhouse\b/, instead: 'code base, appliance' },
  { pattern: /\bcan not\b/, instead: 'cannot' },
  { pattern: /\b(comes?|came|brings?|brought)( \w+)? home\b/, instead: 'arrive, return' },
  { pattern: /\b(he|his|him)\b/, instead: 'the operator, they, their' },
];

/** Phrases in which a retired word is right. Lower case; every one of them is used somewhere. */
export const ALLOWED_PHRASES: readonly string[] = [
  'in place',
  'this room',
  'each room',
  // Names on disk, which are never changed (docs/decisions.md D111).
  "position = 'place'",
  'column `place`',
  'stage `held`',
  "throttled before = 'held'",
];

/** Types whose name stands for one thing: the one file that may define it. */
export const ONE_MEANING: Readonly<Record<string, string>> = {
  Lane: 'src/flow/pacing/lane.ts',
  Reply: 'src/wire/smtp/reply.ts',
  Verdict: 'src/flow/outcome/verdict.ts',
  Waiting: 'src/flow/queue/waiting.ts',
};

/** Where words are not looked for: texts that must not change, or that others wrote. */
export const EXEMPT: readonly RegExp[] = [
  /^migrations\//,
  /^test\/docs\/(retired-words|words\.test)\.ts$/,
  /^test\/mail\/reports\/samples\//,
  /^docs\/glossary\.md$/,
  /^LICENSE$|\/LICENSE$|^bun\.lock$|\.gz$/,
];
