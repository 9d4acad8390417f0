/** A large response: sent whole in pieces, and what it took of the memory is given back however it ends. */
import { beforeEach, expect, test } from 'bun:test';

import { inChunks, inPieces, isLarge } from '../../src/flow/large-response.ts';
import { ByteBudget, type Share } from '../../src/flow/byte-budget.ts';

const TEXT = 'ü'.repeat(400_000);

let budget: ByteBudget;
let share: Share;

beforeEach(() => {
  budget = new ByteBudget();
  share = budget.open('account');
  expect(share.grow(800_000)).toBe(true);
});

test.each([
  ['text', TEXT],
  ['bytes', new TextEncoder().encode(TEXT)],
])('%s arrives whole, and takes memory until its end', async (_, payload) => {
  expect(isLarge(payload)).toBe(true);
  const reader = inChunks(payload, share).getReader();
  const pieces: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    if (pieces.length === 1) expect(budget.bytes).toBe(800_000);
  }
  expect(pieces.length).toBeGreaterThan(2);
  expect(Buffer.concat(pieces).toString()).toBe(TEXT);
  expect(budget.bytes).toBe(0);
});

test('a client that leaves gives it back too', async () => {
  const reader = inChunks(TEXT, share).getReader();
  await reader.read();
  expect(budget.bytes).toBe(800_000);
  await reader.cancel();
  expect(budget.bytes).toBe(0);
});

test('256 KiB are sent whole, and one more is not; a piece has as much, of text half of it', async () => {
  expect([isLarge('x'.repeat(262_144)), isLarge('x'.repeat(262_145))]).toEqual([false, true]);
  expect(isLarge(new Uint8Array(262_145))).toBe(true);
  const sizesOf = async (payload: string | Uint8Array): Promise<number[]> => {
    const sizes: number[] = [];
    for await (const { length } of inChunks(payload, share)) sizes.push(length);
    return sizes;
  };
  expect(await sizesOf(new Uint8Array(262_145))).toEqual([262_144, 1]);
  expect(await sizesOf('x'.repeat(262_145))).toEqual([131_072, 131_072, 1]);
});

test('a piece is a copy: whoever takes it may take its whole buffer', async () => {
  const payload = new Uint8Array(300_000).fill(7);
  const reader = inChunks(payload, share).getReader();
  const { value } = await reader.read();
  expect(value?.buffer).not.toBe(payload.buffer);
  structuredClone(value, { transfer: [value?.buffer as ArrayBuffer] });
  expect((await reader.read()).value).toEqual(new Uint8Array(300_000 - 262_144).fill(7));
});

test('of a buffer that is a part of another one only that part is sent', async () => {
  const whole = Buffer.alloc(900_000, 'x').fill('y', 100_000, 400_000);
  const reader = inChunks(whole.subarray(100_000, 400_000), share).getReader();
  const pieces: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
  }
  expect(Buffer.concat(pieces).toString()).toBe('y'.repeat(300_000));
});

test('pieces of text arrive whole; they take memory until their end, or until the client leaves', async () => {
  const texts = ['a', 'ü'.repeat(70_000), '', 'z'];
  const whole = await new Response(inPieces(texts.values(), share)).text();
  expect(whole).toBe(texts.join(''));
  expect(budget.bytes).toBe(0);
  const other = budget.open('account');
  expect(other.grow(800_000)).toBe(true);
  const reader = inPieces(texts.values(), other).getReader();
  await reader.read();
  expect(budget.bytes).toBe(800_000);
  await reader.cancel();
  expect(budget.bytes).toBe(0);
});

test.each([
  ['chunks', () => inChunks(new Uint8Array(3_100_000), share)],
  ['pieces', () => inPieces(Array.from({ length: 12 }, () => 'x').values(), share)],
])('%s are made one a tick, however fast they are read', async (_, open) => {
  let ticks = 0;
  let isDone = false;
  const tick = (): void => {
    ticks += 1;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await new Response(open()).bytes();
  isDone = true;
  expect(ticks).toBeGreaterThanOrEqual(12);
});

test('a client that leaves while one is made is no fault', async () => {
  const faults: unknown[] = [];
  const note = (fault: unknown): void => void faults.push(fault);
  process.on('unhandledRejection', note);
  for (const open of [() => inChunks(TEXT, share), () => inPieces(['a', 'b'].values(), share)]) {
    const reader = open().getReader();
    const asked = reader.read();
    await reader.cancel();
    expect((await asked).done).toBe(true);
    for (let tick = 0; tick < 5; tick += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  process.off('unhandledRejection', note);
  expect(faults).toEqual([]);
  expect(budget.bytes).toBe(0);
});
