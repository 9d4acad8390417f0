/** What the JSON reader refuses, word for word, and how it lets other work in. */
import { expect, test } from 'bun:test';

import { decodeText, parseJson } from '../../src/base/json.ts';
import { ApiError } from '../../src/base/errors.ts';

/** Status and issues, whole, of the refusal of `text`. */
async function refusedWith(text: string): Promise<[number, string[][]]> {
  const error: unknown = await parseJson(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw new Error(`accepted: ${text.slice(0, 80)}`);
  return [error.status, (error.detail?.issues ?? []).map(({ path, message }) => [path, message])];
}

const NUMBER = 'A number must be between -9007199254740991 and 9007199254740991.';
const PAIR = 'must be valid Unicode: it contains an unpaired surrogate.';

test.each([
  [
    '{"a":1,"a":2,"__proto__":1,"n":1e400,"s":"\\ud800"}',
    [
      ['a', 'The key a appears twice.'],
      ['__proto__', 'The key __proto__ is not allowed.'],
      ['n', NUMBER],
      ['s', `s ${PAIR}`],
    ],
  ],
  ['1e400', [['', NUMBER]]],
  [
    '[0,[1,{"a":[1e400]}],-1e400]',
    [
      ['[1][1].a[0]', NUMBER],
      ['[2]', NUMBER],
    ],
  ],
  ['"\\udfff"', [['', `The body ${PAIR}`]]],
  ['["\\uD8ff\\uD8ff"]', [['[0]', `[0] ${PAIR}`]]],
  ['"\\uDC00"', [['', `The body ${PAIR}`]]],
  ['"\\uDF9c"', [['', `The body ${PAIR}`]]],
  ['[{"a":["\\ud800"]},1]', [['[0].a[0]', `[0].a[0] ${PAIR}`]]],
  ['{"\\ud800x":1}', [['\ufffdx', `A key ${PAIR}`]]],
  [
    '{"a":{"\\uDBFF":"\\ud800"}}',
    [
      ['a.\ufffd', `A key ${PAIR}`],
      ['a.\ufffd', `a.\ufffd ${PAIR}`],
    ],
  ],
  ['{"a\\n":1,"a\\n":2}', [['a\ufffd', 'The key a\ufffd appears twice.']]],
  [
    '{"a":"b","a":[{"c":1,"c":2}]}',
    [
      ['a', 'The key a appears twice.'],
      ['a[0].c', 'The key c appears twice.'],
    ],
  ],
  ['['.repeat(33), [['', 'The body must be nested at most 32 levels deep.']]],
  ['{"a":'.repeat(33), [['', 'The body must be nested at most 32 levels deep.']]],
] as [string, string[][]][])('%s is refused whole', async (text, issues) => {
  expect(await refusedWith(text)).toEqual([422, issues]);
});

test('a body that is no JSON says so, and one that is no UTF-8', async () => {
  expect(await refusedWith('{"a":1,"a":2')).toEqual([400, [['', 'The body must be valid JSON.']]]);
  expect(() => decodeText(Uint8Array.from([0x22, 0xc3, 0x22]))).toThrow(
    'The body must be valid UTF-8.',
  );
  expect(decodeText(Buffer.from('\ufeff"ü"'))).toBe('"ü"');
});

test('the limits of a body are told in words', async () => {
  const keys = Array.from({ length: 1_001 }, (_, at) => `"k${at}":1`).join(',');
  const nodes = `[${'"",'.repeat(250_000)}1]`;
  expect([await refusedWith(`{${keys}}`), await refusedWith(nodes)]).toEqual([
    [422, [['', 'An object must have at most 1000 fields.']]],
    [422, [['', 'The body must have at most 250,000 objects, lists and texts.']]],
  ]);
  // The same key again makes no more fields of it.
  const [, issues] = await refusedWith(`{${keys.replace('"k1000"', '"k999"')}}`);
  expect(issues).toEqual([['k999', 'The key k999 appears twice.']]);
});

test('a hundred faults are told, of each kind and of both together', async () => {
  const numbers = (count: number): string => Array.from({ length: count }, () => '1e400').join(',');
  const texts = (count: number): string =>
    Array.from({ length: count }, () => '"\\ud800"').join(',');
  for (const [text, count] of [
    [`[${numbers(100)}]`, 100],
    [`[${numbers(101)}]`, 100],
    [`[${texts(100)}]`, 100],
    [`[${texts(101)}]`, 100],
    [`[${numbers(60)},${texts(60)}]`, 100],
  ] as const) {
    expect([count, (await refusedWith(text))[1].length]).toEqual([count, count]);
  }
});

test('a number is looked at from four characters on, and loses no digit below its limits', async () => {
  for (const good of [
    '9007199254740991',
    '-9007199254740991',
    '1e15',
    '1E+9',
    '1e-9',
    '99.5e3',
    '999',
    '9e9',
  ]) {
    expect(await parseJson(good)).toBe(Number(good));
  }
  for (const bad of ['9007199254740992', '-9007199254740992', '1e16', '1E+99', '-1e16']) {
    expect([bad, await refusedWith(`[${bad},1]`)]).toEqual([bad, [422, [['[0]', NUMBER]]]]);
  }
});

test('other work is let in between the stretches of a long body, and not within a short one', async () => {
  const ticksDuring = async (text: string): Promise<number> => {
    let ticks = 0;
    let isOver = false;
    const count = (): void => {
      ticks += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await parseJson(text);
    isOver = true;
    return ticks;
  };
  const ofLength = (length: number): string => `[${'1,'.repeat((length - 4) / 2)}10]`;
  expect(ofLength(1_048_576)).toHaveLength(1_048_576);
  expect(await ticksDuring(ofLength(1_048_576))).toBe(0);
  // One between two stretches, one before and one after it is built.
  expect(await ticksDuring(`${ofLength(1_048_576)} `)).toBe(3);
  expect(await ticksDuring(ofLength(1_048_578))).toBe(3);
  expect(await ticksDuring(ofLength(3 * 1_048_576))).toBe(4);
});
