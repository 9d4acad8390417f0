/** Space that is kept free on a disk: a fixed figure, less where the disk is small (docs/reliability.md R5). */
import { expect, test } from 'bun:test';

import { BODY_BYTES_MAX, diskReserveBytes, keptReserveBytes } from '../../src/base/limits.ts';

const MIB = 1024 * 1024;

test.each([
  ['a disk of 1 TiB', 1024 * 1024 * MIB, 256 * MIB, 16 * MIB],
  ['the smallest that keeps all of it', 5_120 * MIB, 256 * MIB, 16 * MIB],
  ['1 GiB', 1024 * MIB, 51.2 * MIB, 16 * MIB],
  ['a tmpfs of 48 MiB', 48 * MIB, 2.4 * MIB, 1.2 * MIB],
])('%s', (_, total, refusedBelow, kept) => {
  expect(diskReserveBytes(total)).toBeCloseTo(refusedBelow, 0);
  expect(keptReserveBytes(total)).toBe(Math.floor(kept));
  // Sends are refused while there is still space for the outcomes of what was accepted.
  expect(keptReserveBytes(total)).toBeLessThan(diskReserveBytes(total));
});

test('a body may have 14 MiB, as the refusal says', () => expect(BODY_BYTES_MAX).toBe(14_680_064));
