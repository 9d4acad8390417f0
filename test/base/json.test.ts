/**
 * The JSON reader against `JSON.parse`: whatever it lets through is the same value.
 */
import { expect, test } from 'bun:test';
import { decodeText, endOfString, parseJson, joinPath, shown } from '../../src/base/json.ts';
import { ApiError } from '../../src/base/errors.ts';
import { seeded, type Random } from '../mail/random.ts';

const parse = (text: string): Promise<unknown> => parseJson(decodeText(Buffer.from(text)));

/** The refusal of `text`: status and paths. */
async function refusal(text: string): Promise<[number, string[]]> {
  try {
    await parse(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const issues = error.detail?.['issues'] as { path: string }[];
    return [error.status, issues.map(({ path }) => path)];
  }
  throw new Error(`accepted: ${text}`);
}

test.each([
  ['{"a":1,"a":1}', ['a']],
  ['{"a":{"b":1,"c":2,"b":3}}', ['a.b']],
  ['[{"x":1},{"y":[{"z":1,"z":2}]}]', ['[1].y[0].z']],
  ['{"a\\u0062":1,"ab":2}', ['ab']],
  ['{"__proto__":1}', ['__proto__']],
  ['{"a":[1,9007199254740993]}', ['a[1]']],
  ['{"a":-9007199254740993}', ['a']],
  ['{"a":1e16}', ['a']],
  ['{"a":1e999,"b":1E+400}', ['a', 'b']],
  ['{"a":["\\ud800"],"b":"\\udc00x"}', ['a[0]', 'b']],
])('%s is 422 with its path', async (text, paths) => {
  expect(await refusal(text)).toEqual([422, paths]);
});

test.each([
  '',
  ' ',
  '{',
  '[1,]',
  '{"a":1,}',
  '01',
  '"\n"',
  'nul',
  '{"a" 1}',
  '1 2',
  '"\\x"',
  '"',
  '{"a\\',
])('%j is 400', async (text) => {
  expect((await refusal(text))[0]).toBe(400);
});

test('the same key in two objects, equal values and escapes are no duplicates', async () => {
  for (const text of [
    '[{"a":1},{"a":1}]',
    '{"a":{"a":{"a":1}}}',
    '{"a":"a","b":"a"}',
    '{"a\\\\":1,"a":2}',
    '{"a\\"":1,"a":"{\\"a\\":1,\\"a\\":2}"}',
    '"\\ud83d\\ude00"',
    '[9007199254740991,-9007199254740991,0.1234567890123456789,1e15]',
  ]) {
    expect(await parse(text)).toEqual(JSON.parse(text));
  }
});

test('depth: 32 levels are read, 33 are not', async () => {
  expect(await parse('['.repeat(32) + ']'.repeat(32))).toBeDefined();
  expect((await refusal('['.repeat(33) + ']'.repeat(33)))[0]).toBe(422);
});

test('5,000,000 numbers are read, one more is not', async () => {
  const numbers = (count: number): string => `[${'1,'.repeat(count - 1)}1]`;
  expect(await parse(numbers(5_000_000))).toBeArrayOfSize(5_000_000);
  const refusal = await parse(numbers(5_000_001)).catch((error: unknown) => error);
  expect(String(refusal)).toContain(
    'The body must have at most 5,000,000 numbers. Send files as base64.',
  );
});

test('250,000 objects, lists and texts are read, one more is not; numbers do not count', async () => {
  const lists = (count: number): string => `[${'[],'.repeat(count - 2)}[]]`;
  expect(await parse(lists(250_000))).toBeArrayOfSize(249_999);
  expect(await refusal(lists(250_001))).toEqual([422, ['']]);
  expect(await refusal(`[${'{"a":"b"},'.repeat(84_000)}1]`)).toEqual([422, ['']]);
  expect(await parse(`[${'1,'.repeat(300_000)}1]`)).toBeArrayOfSize(300_001);
});

test('an object has at most 1,000 fields', async () => {
  const keys = (count: number): string =>
    `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',')}}`;
  expect(await parse(keys(1_000))).toBeDefined();
  expect(await refusal(keys(1_001))).toEqual([422, ['']]);
});

test('strings of many escaped quotation marks end where they end', async () => {
  for (const count of [998, 1_000, 1_001, 5_000]) {
    const value = [`${'"'.repeat(count)}\\`, '\\', { '"': count }];
    expect(await parse(JSON.stringify(value))).toEqual(value);
  }
});

test('a string ends at its own quotation mark, however many escaped ones stand before it', () => {
  for (const count of [0, 1, 999, 1_000, 1_001, 3_000]) {
    for (const tail of ['', 'a', '\\\\', 'ab', '\\n']) {
      const literal = `"${'\\"'.repeat(count)}${tail}"`;
      expect([count, tail, endOfString(`${literal},"next"`, 0)]).toEqual([
        count,
        tail,
        literal.length - 1,
      ]);
      const open = literal.slice(0, -1);
      expect(endOfString(open, 0)).toBe(open.length);
    }
  }
});

const seed = Number(process.env['JSON_SEED'] ?? Date.now() % 1_000_000);

test(`random documents are read as JSON.parse reads them, seed ${seed}`, async () => {
  const random = seeded(seed);
  for (let round = 0; round < 2_000; round += 1) {
    const text = JSON.stringify(anyValue(random, 0), null, random.pick([0, 1, '\t']));
    expect(await parse(text)).toEqual(JSON.parse(text));
  }
});

function anyValue(random: Random, depth: number): unknown {
  const kind = random.int(depth > 4 ? 4 : 6);
  if (kind === 0) return random.pick([true, false, null]);
  if (kind === 1) return (random.int(2_000_000) - 1_000_000) / random.pick([1, 10, 1_000]);
  if (kind < 4) return anyText(random);
  const items = Array.from({ length: random.int(5) }, () => anyValue(random, depth + 1));
  if (kind === 4) return items;
  return Object.fromEntries(items.map((item, at) => [`${anyText(random)}${at}`, item]));
}

function anyText(random: Random): string {
  const pieces = [
    'a',
    '"',
    '\\',
    '\\"',
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '\n',
    'ü',
    '😀',
    '\\u0041',
    '1e9',
    ' ',
  ];
  return Array.from({ length: random.int(8) }, () => random.pick(pieces)).join('');
}

test('a key is seen twice wherever it stands in a large body', async () => {
  for (const length of [1_000, 100_000, 1_000_000, 3_000_000]) {
    const text = `{"a":1,"list":[${'1,'.repeat(length)}1],"long":"${'x'.repeat(length)}"`;
    expect([length, await refusal(`${text},"a":2}`)]).toEqual([length, [422, ['a']]]);
    expect([length, await refusal(`[${text}},{"b":{"c":1,"c":2}}]`)]).toEqual([
      length,
      [422, ['[1].b.c']],
    ]);
  }
  // Cut anywhere, also between two keys of one object.
  const keys = Array.from({ length: 200 }, (_, n) => `"k${n}":"${'x'.repeat(2_000)}"`).join(',');
  for (const twice of ['k0', 'k77', 'k199']) {
    expect(await refusal(`{${keys},"${twice}":1}`)).toEqual([422, [twice]]);
  }
});

test('a key in a message has at most 80 characters, and none that moves the cursor', () => {
  expect(shown('k'.repeat(80))).toBe('k'.repeat(80));
  expect(shown('k'.repeat(81))).toBe(`${'k'.repeat(80)}…`);
  expect(shown('a\u0000\u001b\u007f\u009f\u2028\u2029b')).toBe(
    'a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdb',
  );
  expect(shown('a\ud800')).toBe('a\ufffd');
  expect([joinPath('', 'a'), joinPath('a', 'b'), joinPath('a', '')]).toEqual(['a', 'a.b', 'a.']);
});

test('numbers are read in every form of theirs', async () => {
  const forms = '[1.5e-7,1E+15,-2.5e-1,9007199254740991,-9007199254740991,-0.000001,1e15]';
  expect(await parseJson(forms)).toEqual(JSON.parse(forms));
});

test('each text counts once, and so does each list', async () => {
  const texts = (count: number): string =>
    `[${Array.from({ length: count }, () => '""').join(',')}]`;
  expect(await parseJson(texts(249_999))).toHaveLength(249_999);
  const refusal: unknown = await parseJson(texts(250_000)).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'validation_failed', status: 422 });
});
