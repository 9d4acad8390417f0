/** Reading DATA: line ends wherever the chunks are cut, bytes within their budget, and clients that go away. */
import { expect, test } from 'bun:test';
import { PassThrough } from 'node:stream';
import type { SMTPServerDataStream } from 'smtp-server';
import { ByteBudget } from '../../src/smtp/limits.ts';
import { readMessage, type ReadMessage } from '../../src/smtp/read-message.ts';

function stream(): SMTPServerDataStream {
  return Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false });
}

async function read(
  chunks: (string | Buffer)[],
  maxBytes = 1_000,
  budget = new ByteBudget(1_000),
): Promise<ReadMessage> {
  const input = stream();
  const message = readMessage(input, maxBytes, budget);
  for (const chunk of chunks) {
    input.write(chunk);
    // Each chunk is read before the next is there, so the cuts stay where they are.
    await new Promise((resolve) => setImmediate(resolve));
  }
  input.end();
  return message;
}

test.each([
  ['a\r\nb\r\n', false],
  ['', false],
  ['abc', false],
  ['\r\n\r\n', false],
  ['a\nb\r\n', true],
  ['a\rb\r\n', true],
  ['\na', true],
  ['a\r\r\nb', true],
  ['a\n\r\n', true],
  ['a\r', true],
  ['\n', true],
  ['\r\n\n', true],
])('%j has a bare line end: %p, however it is cut', async (text, isBare) => {
  for (let cut = 0; cut <= text.length; cut += 1) {
    const message = await read([text.slice(0, cut), text.slice(cut)].filter((part) => part !== ''));
    expect([cut, message.hasBareLineEnd]).toEqual([cut, isBare]);
  }
  expect((await read(text.split(''))).hasBareLineEnd).toBe(isBare);
});

test('keeps the first bytes, counts all, and gives the budget back', async () => {
  const budget = new ByteBudget(10);
  const message = await read(['abcd', 'efgh', 'ijkl'], 6, budget);
  expect([message.bytes.toString(), message.totalBytes, message.isCrowdedOut]).toEqual([
    'abcdef',
    12,
    false,
  ]);
  expect(budget.take(5)).toBe(false);
  message.release();
  expect(budget.take(10)).toBe(true);
});

test('keeps nothing where there is no room, and holds none of it', async () => {
  const budget = new ByteBudget(10);
  const message = await read(['abcd', 'efghijklmno', 'p'], 100, budget);
  expect([message.bytes.length, message.totalBytes, message.isCrowdedOut]).toEqual([0, 16, true]);
  expect(budget.take(10)).toBe(true);
});

test('a client that goes away rejects and holds nothing', async () => {
  const budget = new ByteBudget(10);
  const input = stream();
  const message = readMessage(input, 100, budget);
  input.write('abcd');
  await new Promise((resolve) => setImmediate(resolve));
  input.destroy(new Error('gone'));
  const error = await message.catch((reason: unknown) => reason);
  expect((error as Error).message).toBe('gone');
  expect(budget.take(10)).toBe(true);
});
