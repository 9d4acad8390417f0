/** Header fields: what may stand in one, folding that unfolds to itself, encoded words that decode. */
import { expect, test } from 'bun:test';
import { decodeWords as decodeForeign } from 'postal-mime';
import {
  RESERVED_HEADERS,
  checkCharacters,
  checkHeaderValue,
  encodePhrase,
  encodeText,
  isHeaderName,
  foldField,
  isReservedHeader,
  readableText,
  writeField,
} from '../../../src/mail/header/headers.ts';
import { decodeWords } from '../../../src/mail/mime/text.ts';
import { randomText, seeded } from '../random.ts';

test('header names are those of RFC 5322, and none that an object has', () => {
  for (const name of ['X-A', 'x', 'List-Unsubscribe', "!#$%&'*+-.^_`|~", 'X'.repeat(100)]) {
    expect([name, isHeaderName(name)]).toEqual([name, true]);
  }
  for (const name of [
    '',
    ' ',
    'X A',
    'X:',
    'X\r\n',
    'X\n',
    'Ü',
    'X\0',
    'X\x7f',
    '__proto__',
    '__PROTO__',
    'constructor',
    'Prototype',
    'X'.repeat(101),
  ]) {
    expect([name, isHeaderName(name)]).toEqual([name, false]);
  }
});

test('what the service writes itself is reserved in any case', () => {
  // As docs/decisions.md D18 lists them: an entry that goes missing lets a sender write the field a second time.
  expect([...RESERVED_HEADERS].sort().join(' ')).toBe(
    'bcc cc date dkim-signature feedback-id from message-id mime-version received reply-to return-path sender subject to',
  );
  for (const name of RESERVED_HEADERS) {
    expect(isReservedHeader(name)).toBe(true);
    expect(isReservedHeader(name.toUpperCase())).toBe(true);
  }
  expect(isReservedHeader('Content-Anything')).toBe(true);
  expect(isReservedHeader('X-Content-Anything')).toBe(false);
  expect(isReservedHeader('List-Unsubscribe')).toBe(false);
  expect(['Content', 'Contents', 'Content-'].map(isReservedHeader)).toEqual([false, false, true]);
});

test('every control character is refused, with its reason', () => {
  for (let code = 0; code < 0xa0; code += 1) {
    if (code >= 0x20 && code < 0x7f) continue;
    const text = `a${String.fromCharCode(code)}b`;
    const reason = checkCharacters(text);
    expect([code, reason]).toEqual([code, expect.stringMatching(/^must not contain /)]);
    expect([code, checkCharacters(text, true)]).toEqual([code, code === 9 ? null : reason]);
  }
  expect(checkCharacters('a\u0007b')).toBe('must not contain the control character U+0007');
  expect(checkCharacters('a\u009b')).toBe('must not contain the control character U+009B');
  expect(checkCharacters('a\u2028')).toBe('must not contain the control character U+2028');
  expect(checkCharacters('a\ud800')).toBe('must not contain an unpaired surrogate');
  expect(checkCharacters('a🎉\u00a0ü')).toBeNull();
});

test('a value that cannot be folded is refused', () => {
  expect(checkHeaderValue('x'.repeat(850))).toBeNull();
  expect(checkHeaderValue('x'.repeat(900))).toMatch(/folded/);
  expect(checkHeaderValue(`x${' '.repeat(900)}y`)).toMatch(/folded/);
  expect(checkHeaderValue(`${'x'.repeat(800)} `.repeat(10))).toBeNull();
  expect(checkHeaderValue('x '.repeat(6_000))).toMatch(/longer/);
});

test('folding is undone by unfolding, and no line is only white space', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const random = seeded(seed);
    const value = randomText(random, 80)
      .replace(/[^\x20-\x7e]/g, '')
      .trim();
    if (value === '' || checkHeaderValue(value) !== null) continue;
    const field = writeField('X-Test', value);
    expect([seed, field.endsWith('\r\n')]).toEqual([seed, true]);
    const lines = field.slice(0, -2).split('\r\n');
    expect([
      seed,
      lines.every((line, index) => /\S/.test(line) && (index === 0 || line.startsWith(' '))),
    ]).toEqual([seed, true]);
    expect([seed, lines.join('')]).toEqual([seed, `X-Test: ${value}`]);
  }
});

test('encoded words are short and whole, and two decoders give the original text', () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const text = randomText(seeded(seed), 40);
    for (const encoded of [encodeText(text, 9), encodePhrase(text)]) {
      if (!encoded.startsWith('=?UTF-8?')) continue;
      const words = encoded.split(' ');
      for (const word of words) {
        expect([seed, word]).toEqual([
          seed,
          expect.stringMatching(/^=\?UTF-8\?(?:Q\?[A-Za-z0-9!*+\-/=_]+|B\?[A-Za-z0-9+/=]+)\?=$/),
        ]);
        expect(word.length).toBeLessThanOrEqual(75);
        expect(decodeWords(word)).not.toContain('\ufffd');
      }
      expect([seed, decodeWords(encoded)]).toEqual([seed, text]);
      expect([seed, decodeForeign(encoded)]).toEqual([seed, text]);
    }
  }
});

test('lines with encoded words have at most 76 characters, the first with its name too', () => {
  for (const name of ['Subject', 'X-A-Name-Of-Some-Length']) {
    for (const text of ['ü'.repeat(200), 'Grüße aus der Küche '.repeat(20), '鉄道'.repeat(60)]) {
      const field = writeField(name, encodeText(text, name.length + 2));
      const lengths = field
        .trimEnd()
        .split('\r\n')
        .map((line) => line.length);
      expect(lengths.length).toBeGreaterThan(2);
      expect(Math.max(...lengths)).toBeLessThanOrEqual(76);
    }
  }
});

test('a long text takes as few encoded words as fit', () => {
  // 45 bytes are 60 characters of base64; the first word shares its line with the name.
  const words = encodeText('ü'.repeat(217), 'Subject: '.length).split(' ');
  expect(words).toHaveLength(10);
  for (const word of words.slice(1, -1)) expect(word.length).toBeGreaterThan(68);
});

test('encoded words of others are read: charsets, languages, split characters, nonsense', () => {
  const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  expect(decodeWords('=?iso-8859-1?Q?a=E4?=')).toBe('aä');
  expect(decodeWords('=?windows-1252?Q?=80?=')).toBe('€');
  expect(decodeWords('=?utf-8*de?B?w7w=?= x')).toBe('ü x');
  expect(decodeWords('=?utf-8?B?4oI=?= =?utf-8?B?rA==?=')).toBe('€');
  expect(decodeWords('=?utf-8?Q?a?=\r\n\t=?utf-8?Q?b?= c')).toBe('ab c');
  expect(decodeWords('=?klingon?Q?a?=')).toBe('a');
  expect(decodeWords('=?utf-8?X?a?=')).toBe('=?utf-8?X?a?=');
  expect(decodeWords(bytes('Jürgen'))).toBe('Jürgen');
  expect(decodeWords('J\xfcrgen')).toBe('Jürgen');
});

test('writing refuses what was not checked', () => {
  expect(() => writeField('X\r\nBcc', 'x')).toThrow('not a header name');
  expect(() => writeField('X', 'a\r\nBcc: b')).toThrow('must not contain a line break');
  expect(writeField('X', '')).toBe('X:\r\n');
});

test('the time to write a value is linear in its length', () => {
  const work = (value: string): void => {
    checkHeaderValue(value);
    encodeText(value);
    encodePhrase(value);
    writeField('X', ` ${value.replace(/[^ -~]/g, 'x')} `);
  };
  const bestMs = (value: string): number => {
    const times = [1, 2, 3].map(() => {
      // Of the processor, not of the clock: on a busy machine only short work is done in one go.
      const begin = process.cpuUsage();
      work(value);
      const { user, system } = process.cpuUsage(begin);
      return (user + system) / 1_000;
    });
    return Math.min(...times);
  };
  for (const [unit, count] of [
    [' ', 1e5],
    ['x', 1e5],
    ['x  ', 3e4],
    ['ü', 2e4],
    ['=?', 2e4],
    ['"\\', 2e4],
  ] as const) {
    // Four times as long: four times the work, where a quadratic step would take sixteen.
    const [short, long] = [unit.repeat(count), unit.repeat(count * 4)];
    // The collector may run in one comparison; a quadratic step fails every one.
    const isLinear = [1, 2, 3].some(() => bestMs(long) < 10 * bestMs(short) + 30);
    expect([unit, isLinear]).toEqual([unit, true]);
  }
}, 30_000);

test('a value may have 10,000 characters, and 850 without a space to fold at', () => {
  const long = 'x '.repeat(5_000);
  expect(checkHeaderValue(long)).toBeNull();
  expect(checkHeaderValue(`${long}x`)).toBe('must not be longer than 10000 characters');
  // The space before a stretch is folded with it.
  expect(checkHeaderValue(`a ${'x'.repeat(849)}`)).toBeNull();
  expect(checkHeaderValue(`a ${'x'.repeat(850)}`)).toMatch(/every 850 characters/);
  expect(checkHeaderValue('x'.repeat(851))).toMatch(/every 850 characters/);
  // Encoded words can be folded anywhere.
  expect(checkHeaderValue(`ü${'x'.repeat(2_000)}`)).toBeNull();
  expect(checkHeaderValue(`=?${'x'.repeat(2_000)}`)).toBeNull();
});

test('a line of 76 characters is not folded, one of 77 is, never behind the colon', () => {
  expect(foldField('X', `a ${'b'.repeat(71)}`)).toBe(`X: a ${'b'.repeat(71)}\r\n`);
  expect(foldField('X', `a ${'b'.repeat(72)}`)).toBe(`X: a\r\n ${'b'.repeat(72)}\r\n`);
  expect(foldField('X', 'b'.repeat(100))).toBe(`X: ${'b'.repeat(100)}\r\n`);
  expect(foldField('X', `${'b'.repeat(100)} c`)).toBe(`X: ${'b'.repeat(100)}\r\n c\r\n`);
  // Where several spaces stand, a fold could not be undone.
  expect(foldField('X', `${'b'.repeat(70)}  ${'c'.repeat(9)}`).split('\r\n')).toHaveLength(2);
  expect(foldField('X', '  a  ')).toBe('X: a\r\n');
});

test.each([
  ['Ann Lee', 'Ann Lee'],
  ["Ann's & Bob", "Ann's & Bob"],
  ['Lee, Ann', '"Lee, Ann"'],
  ['Ann "A" \\ Lee', '"Ann \\"A\\" \\\\ Lee"'],
  ['Ann  Lee', '"Ann  Lee"'],
  ['Dr. Lee', '"Dr. Lee"'],
  ['Ann A. Lee', '"Ann A. Lee"'],
  [' Ann', '" Ann"'],
  ['Ann\tLee', '"Ann\tLee"'],
  // The first word of a name has a line of its own.
  [
    'ü'.repeat(30),
    `=?UTF-8?B?${Buffer.from('ü'.repeat(22)).toString('base64')}?= =?UTF-8?B?${Buffer.from('ü'.repeat(8)).toString('base64')}?=`,
  ],
  ['a@b', '"a@b"'],
  ['=?x', '=?UTF-8?B?PT94?='],
  ['Jürgen', '=?UTF-8?Q?J=C3=BCrgen?='],
  ['漢字', '=?UTF-8?B?5ryi5a2X?='],
])('the name %s is written as %s', (name, wire) => expect(encodePhrase(name)).toBe(wire));

test.each([
  ['plain', 'plain'],
  ['a=b', 'a=b'],
  ['x'.repeat(850), 'x'.repeat(850)],
  ['a b ü_?', '=?UTF-8?B?YSBiIMO8Xz8=?='],
  ['many more words here ü_?', '=?UTF-8?Q?many_more_words_here_=C3=BC=5F=3F?='],
  ['AZaz09!*+-/ü', '=?UTF-8?Q?AZaz09!*+-/=C3=BC?='],
])('the text %s is written as %s', (text, wire) => expect(encodeText(text)).toBe(wire));

test('a stretch that cannot be folded is encoded', () => {
  expect(encodeText('x'.repeat(851))).toStartWith('=?UTF-8?Q?xxx');
});

test.each([
  ['a\tb', 'a\tb'],
  ['a\r\n\0b', 'a b'],
  ['a\u0085\u2028\u2029b', 'a b'],
  ['a\u202db\u202ec', 'abc'],
  ['a\u202a\u2067b\u200f', 'a\u202a\u2067b\u200f'],
  ['a\ud800b', 'a\ufffdb'],
])('a reader gets %j as %j', (text, shown) => expect(readableText(text)).toBe(shown));
