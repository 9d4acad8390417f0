/** A large response: sent whole in pieces, and what it took of the memory is given back however it ends. */
import { beforeEach, expect, test } from 'bun:test';

import { inChunks, isLarge } from '../../src/flow/large-response.ts';
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

test('256 KiB are sent whole, and one more is not; a piece has as much', async () => {
  expect([isLarge('x'.repeat(262_144)), isLarge('x'.repeat(262_145))]).toEqual([false, true]);
  expect(isLarge(new Uint8Array(262_145))).toBe(true);
  const reader = inChunks('x'.repeat(262_145), share).getReader();
  const sizes: unknown[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    sizes.push(value.length);
  }
  expect(sizes).toEqual([262_144, 1]);
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
