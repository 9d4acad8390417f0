/** Addresses: a corpus with verdicts, nothing read in two ways, and printing undone by parsing. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  addressOf,
  formatAddress,
  hasNonAsciiLocal,
  makeAddress,
  parseAddress,
} from '../../../src/mail/header/address.ts';
import { parseAddressList } from '../../../src/mail/header/address-list.ts';
import { bestOf, tookMs } from '../../rig/best-of.ts';
import { randomText, seeded } from '../random.ts';

const CORPUS = readFileSync(join(import.meta.dir, 'addresses.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t'));

const TAKEN = CORPUS.filter(([verdict]) => verdict === 'ok').map(
  ([, text, mailbox]) =>
    [JSON.parse(text ?? ''), JSON.parse(mailbox ?? '')] as [string, [string, string, string]],
);
const REFUSED = CORPUS.filter(([verdict]) => verdict === 'no').map(
  ([, text]) => JSON.parse(text ?? '') as string,
);

test('the corpus has at least 300 addresses', () => {
  expect(TAKEN.length + REFUSED.length).toBe(CORPUS.length);
  expect(CORPUS.length).toBeGreaterThanOrEqual(300);
});

test.each(TAKEN)('%j is taken', (text, [name, local, domain]) => {
  expect(parseAddress(text)).toEqual({ name, local, domain });
});

test.each(REFUSED.map((text) => [text]))('%j is refused', (text) => {
  const result = parseAddress(text);
  expect(result).toEqual({ error: expect.stringMatching(/^(?:is|has|must|does) .{5,}/) });
});

test('an address may have 254 octets, however it is spelled', () => {
  const domain = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(62)}.ab`;
  const whole = `${'l'.repeat(60)}@${domain}`;
  expect(whole).toHaveLength(254);
  // A lower-case one is read by another way than the others.
  for (const spell of [String, (text: string) => text.toUpperCase()]) {
    expect(parseAddress(spell(whole))).toMatchObject({ domain });
    expect(parseAddress(spell(`l${whole}`))).toEqual({ error: 'is longer than 254 bytes' });
  }
});

test('10,000 levels of nesting are refused, at once', () => {
  const levels = 10_000;
  for (const [open, close] of ['()', '<>', '""', '[]', '{}', ['g:', ';'], ['a@', ''], ['\\', '']]) {
    const text = `${(open ?? '').repeat(levels)}a@example.com${(close ?? '').repeat(levels)}`;
    expect(parseAddress(text)).toEqual({ error: 'is too long for an email address' });
    expect(parseAddress(`Ann <${text}>`)).toEqual({ error: 'is too long for an email address' });
  }
});

test('what is printed parses to the same mailbox, for the whole corpus', () => {
  for (const [text] of TAKEN) {
    const mailbox = parseAddress(text);
    if ('error' in mailbox) throw new Error(text);
    expect(parseAddress(formatAddress(mailbox))).toEqual(mailbox);
    expect(parseAddress(addressOf(mailbox))).toEqual({ ...mailbox, name: '' });
    expect(makeAddress(addressOf(mailbox), mailbox.name)).toEqual(mailbox);
    expect(formatAddress(mailbox)).not.toMatch(/[\r\n\0]/);
  }
});

test('what is accepted reads the same as a list of one', () => {
  for (const [text] of TAKEN) {
    const mailbox = parseAddress(text);
    if ('error' in mailbox) throw new Error(text);
    const printed = formatAddress(mailbox);
    if (printed.includes('=?')) continue;
    const list = parseAddressList(Buffer.from(printed).toString('latin1'));
    expect([text, list.mailboxes, list.refused]).toEqual([text, [mailbox], 0]);
  }
});

test('100,000 random texts: nothing is thrown, and what is accepted prints to itself', () => {
  const alphabet = [
    'a',
    'b',
    '.',
    '@',
    '"',
    '\\',
    '<',
    '>',
    '(',
    ')',
    ',',
    ';',
    ':',
    ' ',
    'ü',
    'example.com',
    '@x.org',
    '[',
    '🎉',
    'xn--',
    '\u202e',
    '\n',
  ];
  const seed = 9_000;
  const random = seeded(seed);
  let taken = 0;
  for (let count = 0; count < 100_000; count += 1) {
    let text = random.chance(0.5)
      ? ''
      : random.pick(['a@example.com', 'Ann <a@example.com>', '"a b"@example.com']);
    for (let pieces = random.int(8); pieces > 0; pieces -= 1) {
      const at = random.int(text.length + 1);
      text = text.slice(0, at) + random.pick(alphabet) + text.slice(at);
    }
    const mailbox = parseAddress(text);
    if ('error' in mailbox) continue;
    taken += 1;
    expect([text, parseAddress(formatAddress(mailbox))]).toEqual([text, mailbox]);
    expect(addressOf(mailbox)).toMatch(/^(?:"(?:[^"\\]|\\.)*"|[^\s"(),:;<>@[\\\]]+)@[a-z0-9.-]+$/);
  }
  expect(taken).toBeGreaterThan(10_000);
}, 60_000);

test('any text may be the name of an object form, or says why not', () => {
  for (let seed = 0; seed < 2_000; seed += 1) {
    const name = randomText(seeded(seed), 8);
    const mailbox = makeAddress('a@example.com', name);
    if ('error' in mailbox) {
      expect(mailbox.error).toMatch(/control character|more than 320/);
      continue;
    }
    expect([seed, parseAddress(formatAddress(mailbox))]).toEqual([seed, mailbox]);
  }
  expect(makeAddress('Ann <a@example.com>')).toEqual({ error: expect.any(String) });
  expect(makeAddress('a@example.com', 'a\nb')).toEqual({ error: 'must not contain a line break' });
});

test('only a local part beyond ASCII needs SMTPUTF8', () => {
  const needs = (text: string): boolean => {
    const mailbox = parseAddress(text);
    return !('error' in mailbox) && hasNonAsciiLocal(mailbox);
  };
  expect(needs('zoë@example.com')).toBe(true);
  expect(needs('zoe@müller.example')).toBe(false);
  expect(needs('Zoë <zoe@example.com>')).toBe(false);
});

test('a group may follow an address, and another address a group', () => {
  const list = parseAddressList(
    'a@x.example, team: b@x.example, "C: d" <c@x.example>;, d@x.example',
  );
  expect(list.mailboxes.map(({ name, local }) => [name, local])).toEqual([
    ['', 'a'],
    ['', 'b'],
    ['C: d', 'c'],
    ['', 'd'],
  ]);
  expect([list.refused, list.isPlain]).toEqual([0, false]);
});

test('no text takes long', async () => {
  for (const text of [
    'a'.repeat(1e6),
    '"'.repeat(1e6),
    '('.repeat(1e6),
    'a@'.repeat(5e5),
    '<'.repeat(1e6),
    `${' '.repeat(1_900)}a`,
  ]) {
    const ms = await bestOf(200, () =>
      tookMs(() => {
        parseAddress(text);
        parseAddressList(text);
      }),
    );
    expect(ms).toBeLessThan(200);
  }
});

test.each(['ann@example.com>', '>', 'Ann ann@example.com>', '"Ann <" ann@example.com>'])(
  'a closing angle alone is refused with its reason: %s',
  (text) => {
    expect(parseAddress(text)).toEqual({
      error: 'has a ">" without a "<" outside quotation marks',
    });
  },
);

test.each([
  [`${'l'.repeat(64)}@x.example`, null],
  [`${'l'.repeat(65)}@x.example`, 'has more than 64 bytes before the "@"'],
  [`${'ü'.repeat(32)}@x.example`, null],
  [`${'ü'.repeat(33)}@x.example`, 'has more than 64 bytes before the "@"'],
  [`a@${'d'.repeat(63)}.example`, null],
  [`a@${'d'.repeat(64)}.example`, 'does not have a valid domain name after the "@"'],
  [`a@${`${'d'.repeat(61)}.`.repeat(4)}abcd`, null],
  [`A@${`${'D'.repeat(61)}.`.repeat(4)}abcde`, 'is longer than 254 bytes'],
  [`A@${`${'D'.repeat(61)}.`.repeat(4)}abcdef`, 'has a domain of more than 253 characters'],
  [`${'n'.repeat(320)} <a@x.example>`, null],
  [`${'n'.repeat(321)} <a@x.example>`, 'has a name of more than 320 characters'],
  [`${' '.repeat(1_989)}a@x.example`, null],
  [`${' '.repeat(1_990)}a@x.example`, 'is too long for an email address'],
  ['a@x.1', 'does not have a valid domain name after the "@"'],
  ['a@192.0.2.1', 'does not have a valid domain name after the "@"'],
  ['a@x', 'has a domain without a dot'],
  ['team: a@x.example;', 'must be one address, not a group'],
  [': a@x.example;', 'must be one address, not a group'],
  ['a@x.example;', 'does not have a valid domain name after the "@"'],
  ['a"<x>"@x.example', 'must have its address once, between "<" and ">"'],
  ['a"b@x.example', 'has a character before the "@" that is not allowed without quotation marks'],
])('%s: %p', (text, error) => {
  const read = parseAddress(text);
  expect('error' in read ? read.error : null).toBe(error);
});

test('outside quotation marks a backslash is a character of the name', () => {
  expect(parseAddress(String.raw`A\<a@x.example>`)).toMatchObject({ name: 'A\\', local: 'a' });
  expect(parseAddress(String.raw`A\B <a@x.example>`)).toMatchObject({ name: String.raw`A\B` });
});

test('of the object form name and address have the same bounds', () => {
  expect(makeAddress('a@x.example', ` ${'n'.repeat(320)} `)).toMatchObject({ local: 'a' });
  expect(makeAddress('a@x.example', 'n'.repeat(321))).toEqual({
    error: 'has a name of more than 320 characters',
  });
  expect(makeAddress(' a@x.example ')).toMatchObject({ domain: 'x.example' });
  expect(makeAddress(`${' '.repeat(1_989)}a@x.example`)).toMatchObject({ local: 'a' });
  expect(makeAddress(`${' '.repeat(1_990)}a@x.example`)).toEqual({
    error: 'is too long for an email address',
  });
});

test.each([
  [{ name: '', local: 'a', domain: 'x.example' }, 'a@x.example'],
  [{ name: 'Ann Lee', local: 'a', domain: 'x.example' }, 'Ann Lee <a@x.example>'],
  [{ name: 'Lee, "A" \\', local: 'a', domain: 'x.example' }, '"Lee, \\"A\\" \\\\" <a@x.example>'],
  [{ name: 'Dr. Lee', local: 'a', domain: 'x.example' }, '"Dr. Lee" <a@x.example>'],
  [{ name: 'Jürgen', local: 'a', domain: 'x.example' }, 'Jürgen <a@x.example>'],
])('%j is shown as %s', (mailbox, text) => expect(formatAddress(mailbox)).toBe(text));
