/** Bytes in chunks: all of them in their order, in memory that is at most twice as large and is given back. */
import { expect, test } from 'bun:test';

import { giveBack, KeptBytes } from '../../src/base/kept-bytes.ts';
import { seeded } from '../mail/random.ts';

const KIB = 1024;

test('what comes out is what was pushed, in whatever chunks (seed 517)', () => {
  const random = seeded(517);
  for (const sizes of [[], [1], [64 * KIB], [64 * KIB, 1], [3_000 * KIB], [0, 5, 0]]) {
    const kept = new KeptBytes();
    const all = sizes.map((size) => Buffer.alloc(size).map(() => random.int(256)));
    for (const chunk of all) kept.push(Buffer.from(chunk));
    const expected = Buffer.concat(all);
    expect(kept.length).toBe(expected.length);
    expect(Buffer.concat(kept.take()).equals(expected)).toBe(true);
    expect(kept.length).toBe(0);
  }
  const kept = new KeptBytes();
  const all: Buffer[] = [];
  for (let total = 0; total < 2_500_000; total += all.at(-1)?.length ?? 0) {
    all.push(Buffer.alloc(1 + random.int(90_000), all.length));
    kept.push(all.at(-1) ?? Buffer.alloc(0));
  }
  expect(Buffer.concat(kept.take()).equals(Buffer.concat(all))).toBe(true);
});

test('few bytes are one part, many have memory of their own, at most twice as much', () => {
  const kept = new KeptBytes();
  for (let at = 0; at < 64; at += 1) kept.push(Buffer.alloc(KIB, at));
  expect(kept.hasChunks).toBe(true);
  kept.push(Buffer.alloc(1));
  expect(kept.hasChunks).toBe(false);
  for (let at = 0; at < 300; at += 1) kept.push(Buffer.alloc(KIB, at));
  const parts = kept.take();
  expect(parts.length).toBeGreaterThan(1);
  const memory = parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  expect(memory).toBeLessThanOrEqual(2 * 365 * KIB);
  for (const { buffer, byteLength } of parts) expect(buffer.byteLength).toBe(byteLength);
});

test('what has its memory for itself gives it back, a part of something else does not', () => {
  const own = new Uint8Array(100_000);
  const view = new Uint8Array(new ArrayBuffer(10), 2, 5);
  const common = new Uint8Array(new SharedArrayBuffer(10));
  for (const bytes of [own, view, common]) giveBack(bytes);
  expect([own.length, view.length, common.length]).toEqual([0, 5, 10]);
});
