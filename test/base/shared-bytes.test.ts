/** Bytes that threads share: the same as without, in memory that is not copied between them. */
import { expect, test } from 'bun:test';

import { shared, sharedFromBase64 } from '../../src/base/shared-bytes.ts';

/** Bytes from which they are shared. */
const SHARED = 64 * 1024;

const isShared = (bytes: Uint8Array): boolean => bytes.buffer instanceof SharedArrayBuffer;

function pattern(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) % 256));
}

test.each([
  [0, false],
  [SHARED - 1, false],
  [SHARED, true],
])('of %i bytes: shared: %p', (length, expected) => {
  const whole = pattern(length + 10);
  const bytes = new Uint8Array(whole.buffer, whole.byteOffset + 3, length);
  const copy = shared(bytes);
  expect(isShared(copy)).toBe(expected);
  expect(copy.equals(bytes)).toBe(true);
  // Once shared they are not copied again, nor are those that stay where they are.
  const again = shared(copy);
  expect([again.buffer === copy.buffer, again.length]).toEqual([true, length]);
});

test.each(['base64', 'base64url'] as const)('%s of any length', (alphabet) => {
  for (const length of [0, 1, 1_000, 49_150, 49_151, 49_152, 49_153, 200_000]) {
    const bytes = pattern(length);
    const plain = bytes.toString(alphabet);
    const unpadded = plain.replace(/=+$/, '');
    const inLines = plain.replace(/.{76}/g, '$&\r\n');
    for (const text of [plain, unpadded, inLines, `${inLines}\r\n`]) {
      const decoded = sharedFromBase64(text);
      expect(decoded.equals(bytes)).toBe(true);
      expect(isShared(decoded)).toBe(text.length >= SHARED);
    }
  }
});

test('another thread reads the same memory', async () => {
  const bytes = shared(pattern(SHARED));
  const url = URL.createObjectURL(
    new Blob(['self.onmessage = ({ data }) => { data[0] = 200; postMessage(data.length); };']),
  );
  const worker = new Worker(url);
  const length = await new Promise((resolve) => {
    worker.addEventListener('message', ({ data }) => resolve(data));
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
    worker.postMessage(bytes);
  });
  worker.terminate();
  URL.revokeObjectURL(url);
  expect([length, bytes[0]]).toEqual([SHARED, 200]);
});
