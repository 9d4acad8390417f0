/** Every route of the API, with status, headers and body of each response as they stand in walk.txt. */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { TRANSCRIPT_FILE, walk } from './walk.ts';
import { STEPS } from './walk-steps.ts';

const BLOCKS = readFileSync(TRANSCRIPT_FILE, 'utf8').split(/\n(?=> )/);

let seen: string[];
beforeAll(async () => {
  seen = await walk();
});

test('walk.txt has one block a request', () => {
  expect(BLOCKS).toHaveLength(STEPS.length);
});

test.each(STEPS.map(({ method, path, by }, at) => [at, method ?? '', path, by ?? ''] as const))(
  'request %d: %s %s %s',
  (at) => {
    // When this fails and the change is meant: bun test/api/walk.ts, and read the difference.
    expect(seen[at]).toBe(BLOCKS[at] ?? '');
  },
);
