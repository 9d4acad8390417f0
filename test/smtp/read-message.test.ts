/** Reading DATA: line ends wherever the chunks are cut, bytes within their budget, and clients that go away. */
import { expect, test } from 'bun:test';
import { PassThrough } from 'node:stream';
import type { SMTPServerDataStream } from 'smtp-server';
import { ByteBudget, type Share } from '../../src/flow/byte-budget.ts';
import { checkSize, readMessage, type ReadMessage } from '../../src/smtp/read-message.ts';

const bytesOf = ({ parts }: ReadMessage): Buffer => Buffer.concat(parts);

function stream(): SMTPServerDataStream {
  return Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false });
}

function budgetOf(small: number): ByteBudget {
  return new ByteBudget({ large: 0, small });
}

async function read(
  chunks: (string | Buffer)[],
  maxBytes = 1_000,
  budget = budgetOf(1_000),
): Promise<ReadMessage & Share> {
  const input = stream();
  const share = budget.open('');
  const message = readMessage(input, maxBytes, share);
  for (const chunk of chunks) {
    input.write(chunk);
    // Each chunk is read before the next is there, so the cuts stay where they are.
    await new Promise((resolve) => setImmediate(resolve));
  }
  input.end();
  return { ...(await message), ...share };
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
  const budget = budgetOf(10);
  const message = await read(['abcd', 'efgh', 'ijkl'], 6, budget);
  expect([bytesOf(message).toString(), message.totalBytes, message.isOverBudget]).toEqual([
    'abcdef',
    12,
    false,
  ]);
  expect(budget.isFree(5, '')).toBe(false);
  message.release();
  expect(budget.isFree(10, '')).toBe(true);
});

test('keeps nothing once the budget is used up, and takes none of it', async () => {
  const budget = budgetOf(10);
  const message = await read(['abcd', 'efghijklmno', 'p'], 100, budget);
  expect([bytesOf(message).length, message.totalBytes, message.isOverBudget]).toEqual([
    0,
    16,
    true,
  ]);
  expect(budget.isFree(10, '')).toBe(true);
});

test('a client that disconnects rejects and keeps nothing', async () => {
  const budget = budgetOf(10);
  const input = stream();
  const share = budget.open('');
  const message = readMessage(input, 100, share);
  input.write('abcd');
  await new Promise((resolve) => setImmediate(resolve));
  input.destroy(new Error('gone'));
  const error = await message.catch((reason: unknown) => reason);
  expect((error as Error).message).toBe('gone');
  share.release();
  expect(budget.isFree(10, '')).toBe(true);
});

test('a message may have as many bytes as the limit says, and not one more', () => {
  expect(() => checkSize({ totalBytes: 100, isOverBudget: false }, 100)).not.toThrow();
  expect(() => checkSize({ totalBytes: 101, isOverBudget: false }, 100)).toThrow(
    '5.3.4 The message has 101 bytes. The limit is 100 bytes.',
  );
  expect(() => checkSize({ totalBytes: 100, isOverBudget: true }, 100)).toThrow('4.3.1');
});

test('a large message may come in several parts of one chunk, and each chunk is released once it is copied', async () => {
  const chunks = [1, 2, 3].map((fill) => Buffer.from(new ArrayBuffer(90_000)).fill(fill));
  const whole = Buffer.concat(chunks);
  const parts = chunks.flatMap((chunk) => [
    chunk.subarray(0, 70_000),
    chunk.subarray(70_000, 80_000),
    chunk.subarray(80_000),
  ]);
  const message = await read(parts, 300_000, new ByteBudget({ large: 1_000_000, small: 300_000 }));
  expect([message.totalBytes, bytesOf(message).equals(whole)]).toEqual([270_000, true]);
  // Of the last one nobody can say yet that the library does not need it any more.
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 90_000]);
});

test('what is beyond the limit is released too', async () => {
  const chunks = [1, 2, 3].map((fill) => Buffer.from(new ArrayBuffer(90_000)).fill(fill));
  const message = await read(
    [...chunks],
    100_000,
    new ByteBudget({ large: 1_000_000, small: 300_000 }),
  );
  expect([message.totalBytes, bytesOf(message).length, bytesOf(message)[99_999]]).toEqual([
    270_000, 100_000, 2,
  ]);
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 90_000]);
});

test('up to 64 KiB are kept in the chunks they came in; one byte more, and each is released once it is copied', async () => {
  for (const [last, released] of [
    [25_536, 40_000],
    [25_537, 0],
  ] as const) {
    const chunks = [40_000, last].map((bytes) => Buffer.from(new ArrayBuffer(bytes)).fill('x'));
    const budget = new ByteBudget({ large: 1_000_000, small: 300_000 });
    const message = await read(chunks, 100_000, budget);
    expect(bytesOf(message).equals(Buffer.alloc(40_000 + last, 'x'))).toBe(true);
    expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([released, last]);
    // In a memory of its own, as large as it is.
    if (released === 0)
      expect(message.parts.map(({ buffer }) => buffer.byteLength)).toEqual([65_537]);
  }
});

test.each([
  [131_071, [131_071]],
  [131_072, [131_072]],
  [131_073, [131_072, 1]],
  [262_144, [131_072, 131_072]],
  [1_048_576, [131_072, 131_072, 262_144, 524_288]],
  [3_000_000, [131_072, 131_072, 262_144, 524_288, 1_048_576, 902_848]],
])(
  '%i bytes come in parts, each with a memory of its own, and as large as those before',
  async (length, expected) => {
    const whole = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7 + (at >> 9)) % 251));
    const chunks = Array.from({ length: Math.ceil(length / 60_000) }, (_, at) =>
      Buffer.from(whole.subarray(at * 60_000, (at + 1) * 60_000)),
    );
    const budget = new ByteBudget({ large: 10_000_000, small: 300_000 });
    const message = await read(chunks, 4_000_000, budget);
    expect(message.parts.map((part) => part.length)).toEqual(expected);
    expect(message.parts.map(({ buffer }) => buffer.byteLength)).toEqual(expected);
    expect(bytesOf(message).equals(whole)).toBe(true);
  },
);

test('only what is kept is asked of the budget, and nothing more once it is used up or the limit is reached', async () => {
  const asked = async (maxBytes: number, free: number): Promise<unknown[]> => {
    const steps: unknown[] = [];
    const input = stream();
    const share: Share = {
      grow(bytes) {
        steps.push(bytes);
        return (free -= bytes) >= 0;
      },
      begin: async () => void steps.push('begun'),
      release: () => void steps.push('released'),
    };
    const message = readMessage(input, maxBytes, share);
    for (const chunk of ['abcd', 'efgh', 'ijkl', 'mnop']) {
      input.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    input.end();
    const { parts, totalBytes, isOverBudget } = await message;
    return [...steps, Buffer.concat(parts).toString(), totalBytes, isOverBudget];
  };
  expect(await asked(8, 100)).toEqual([4, 4, 'abcdefgh', 16, false]);
  expect(await asked(10, 100)).toEqual([4, 4, 2, 'abcdefghij', 16, false]);
  expect(await asked(100, 16)).toEqual([4, 4, 4, 4, 'abcdefghijklmnop', 16, false]);
  expect(await asked(100, 7)).toEqual([4, 4, 'released', '', 16, true]);
});
