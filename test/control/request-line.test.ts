/** The line of a request: long texts are read in stretches, and are what they would be read whole. */
import { expect, test } from 'bun:test';

import { OperatorError } from '../../src/base/errors.ts';
import { parseRequest } from '../../src/control/request-line.ts';

/** Characters that are read at once. */
const STRETCH = 500_000;

const lineOf = (text: string): string => `{"operation":"x","args":{"a":"${text}"}}`;

/** Escapes of each length, and what looks like one. */
const UNITS = ['\\"', '\\\\', '\\u00e9', '\\ud83d\\ude00', '\\n-', 'é', '\\\\u00e9', 'x'];

test.each(UNITS)('%s, wherever a stretch ends', async (unit) => {
  const many = unit.repeat(Math.ceil((2.2 * STRETCH) / unit.length));
  for (let shift = 0; shift < unit.length; shift += 1) {
    const line = lineOf('.'.repeat(shift) + many);
    // Not the texts themselves: the difference of two of a million characters is read by nobody.
    const [read, whole] = [await parseRequest(line), JSON.parse(line) as unknown];
    expect(Bun.deepEquals(read, whole, true)).toBe(true);
  }
});

test('several long texts among short ones, each at its own name', async () => {
  const [a, b] = ['a"'.repeat(STRETCH), 'b\\'.repeat(STRETCH)];
  const request = {
    operation: 'suppression.import',
    by: 'root',
    args: { a, s: 'short', b, n: [1] },
  };
  expect(Bun.deepEquals(await parseRequest(JSON.stringify(request)), request, true)).toBe(true);
});

test('other work goes on between the stretches of a text', async () => {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await parseRequest(lineOf('\\"'.repeat(5 * STRETCH)));
  isOver = true;
  expect(rounds).toBeGreaterThanOrEqual(10);
});

const long = 'x'.repeat(STRETCH);

test.each<[string, string]>([
  ['no line', ''],
  ['no JSON', '{"operation":"x"'],
  ['not a request', '{"operation":1,"args":{}}'],
  ['a short text without an end', '{"operation":"x","args":{"a":"'],
  ['a long text without an end', `{"operation":"x","args":{"a":"${long}x`],
  ['a long text that ends in an escape', lineOf(`${long}\\`)],
  ['an escape that there is not', lineOf(`${long}\\q`)],
  ['half an escape at the end of a stretch', lineOf(`${'x'.repeat(STRETCH - 3)}\\u00zz${long}`)],
  ['a control character in a long text', lineOf(`${long}\u0001`)],
  ['1,001 texts', `{"operation":"x","args":{${texts(998)}}}`],
  ['too much beside them', `{"operation":"x","args":{"a":[${'1,'.repeat(5_000)}1]}}`],
])('refused: %s', async (_, line) => {
  const error = await parseRequest(line).then(
    () => null,
    (refusal: unknown) => refusal,
  );
  expect(error).toBeInstanceOf(OperatorError);
});

test('1,000 texts, and as much beside them as may be', async () => {
  const most = `{"operation":"x","args":{${texts(997)}}}`;
  expect(await parseRequest(most)).toEqual(JSON.parse(most));
  const frame = '{"operation":"x","args":{}}';
  const outside = frame.replaceAll(/"[^"]*"/g, '').length;
  expect(await parseRequest(frame.padEnd(frame.length + 10_000 - outside))).toEqual(
    JSON.parse(frame),
  );
  const more = await parseRequest(frame.padEnd(frame.length + 10_001 - outside)).catch(
    (error: unknown) => error,
  );
  expect(more).toBeInstanceOf(OperatorError);
});

/** Members, a text each: their names. */
function texts(count: number): string {
  return Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',');
}
