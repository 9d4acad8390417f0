/** The difference of two clocks, which the way of a question and its answer does not count as. */
import { expect, test } from 'bun:test';

import { aheadMs } from '../../src/base/clock-difference.ts';

test.each([
  [1_000, 1_000, 1_000, 0],
  [1_000, 1_400, 1_000, 0],
  [1_000, 1_400, 1_200, 0],
  [1_000, 1_400, 1_400, 0],
  [1_000, 1_400, 1_401, 1],
  [1_000, 1_400, 999, -1],
  [1_000, 1_400, 4_400, 3_000],
  [4_000, 4_400, 1_000, -3_000],
])('asked at %j, answered at %j, said %j: %j ms', (askedAt, answeredAt, said, ahead) => {
  expect(aheadMs({ askedAt, answeredAt, said })).toBe(ahead);
});
