/**
 * Seeded randomness for property tests: the same seed gives the same values on every machine.
 *
 * Test support only; a failing test prints its seed, which repeats the failure.
 */
import type { ComposeInput } from '../../src/mail/compose/compose.ts';

export interface Random {
  /** Whole number from 0 up to and without `below`. */
  int(below: number): number;
  pick<T>(list: readonly T[]): T;
  chance(probability: number): boolean;
}

/** mulberry32: small, fast, good enough to spread cases. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    pick: (list) => list[int(list.length)] as (typeof list)[number],
    chance: (probability) => next() < probability,
  };
}

/** Pieces that writers of mail software stumble over, beside ordinary words. */
const PIECES = [
  'hello',
  'world',
  'invoice',
  'a',
  '=',
  '=?',
  '?=',
  '=?UTF-8?Q?x?=',
  '.',
  '..',
  ' ',
  '  ',
  '\t',
  'ü',
  'ß',
  '漢字',
  '🎉',
  'e\u0301',
  'Здравствуйте',
  'שלום',
  '"',
  '\\',
  '<',
  '>',
  '(',
  ')',
  ',',
  ';',
  ':',
  '@',
  "'",
  '--',
  '=_pr',
  'From ',
  '&amp;',
  'x'.repeat(90),
  'https://example.com/?a=1&b=%20',
];

/** Words and stumbling blocks, without line breaks. Never empty, never with white space at its ends. */
export function randomText(random: Random, pieces: number): string {
  let text = '';
  for (let count = 1 + random.int(pieces); count > 0; count -= 1) {
    text += random.pick(PIECES) + (random.chance(0.4) ? ' ' : '');
  }
  return text.trim() || 'x';
}

/** A body: lines of random text with every kind of line end, long lines, dots, empty lines. */
export function randomBody(random: Random): string {
  let body = '';
  for (let count = random.int(30); count > 0; count -= 1) {
    if (random.chance(0.1)) body += 'y'.repeat(random.int(2_000));
    if (random.chance(0.1)) body += '.';
    if (random.chance(0.6)) body += randomText(random, 12);
    body += random.pick(['\r\n', '\n', '\r', '\n\n', '\n.\n', '\r\n.\r\n', ' \n', '\t\r\n']);
  }
  return body;
}

const ADDRESSES = [
  'a@example.com',
  'first.last+tag@mail.example.org',
  'Ann <ann@example.net>',
  '"Doe, John" <john@example.com>',
  'Jürgen Müller <juergen@xn--mller-kva.example>',
  '"quoted \\"name\\" \\\\" <q@example.com>',
  '=?fake <fake@example.com>',
  '"odd @ local"@example.com',
];

/** A message that the listeners would accept, with whatever is awkward in it. */
export function randomInput(random: Random, number: number): ComposeInput {
  const addresses = (most: number): string[] =>
    Array.from({ length: random.int(most + 1) }, () => random.pick(ADDRESSES));
  const hasHtml = random.chance(0.7);
  return {
    from: random.pick(ADDRESSES),
    to: [random.pick(ADDRESSES), ...addresses(random.chance(0.1) ? 49 : 2)],
    cc: addresses(2),
    replyTo: addresses(1),
    subject: randomText(random, 20),
    html: hasHtml ? `<p>${randomBody(random)}</p><img src="cid:logo@x">` : null,
    text: hasHtml && random.chance(0.3) ? null : `t${randomBody(random)}`,
    headers: random.chance(0.5)
      ? [
          ['X-Entity-Ref-ID', `${number}`],
          ['X-Text', randomText(random, 6)],
          ['List-Unsubscribe', '<https://example.com/u?x=1>'],
        ]
      : [],
    attachments: Array.from({ length: random.chance(0.3) ? 1 + random.int(3) : 0 }, (_, index) => ({
      filename: `${randomText(random, 3)
        .replace(/\t|=\?/g, '')
        .slice(0, 60)}-${index}.bin`.toWellFormed(),
      contentType: random.pick([
        'application/pdf',
        'text/plain',
        'text/html; charset=utf-8',
        'image/png',
      ]),
      contentId: random.pick([null, null, 'logo@x', 'other']),
      content: Uint8Array.from({ length: random.int(3_000) }, () => random.int(256)),
    })),
    messageId: `<${number}.${random.int(1e9)}@mail.example.com>`,
    date: new Date(1_790_000_000_000 + random.int(1e9)),
    feedbackId: random.pick([null, 'a:b:c:postrider']),
  };
}
