/** A whole session of an operator on the compiled binary prints what stands in operator-session.txt, word for word. */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { TRANSCRIPT_FILE, hold } from './operator-session.ts';

const blocksOf = (text: string): string[] => text.split(/^(?=[$(])/m);
const EXPECTED = blocksOf(readFileSync(TRANSCRIPT_FILE, 'utf8'));

let blocks: string[] = [];
beforeAll(async () => {
  blocks = blocksOf(await hold());
}, 120_000);

test('every command was run', () => {
  const headOf = (block: string): string => block.split('\n')[0] ?? '';
  expect(blocks.map(headOf)).toEqual(EXPECTED.map(headOf));
});

// When one fails and the change is meant: bun test/e2e/operator-session.ts, and read the difference.
test.each(EXPECTED.map((block, at) => [block.split('\n')[0], at, block] as const))(
  '%s (%d)',
  (_head, at, block) => {
    expect(blocks[at]).toBe(block);
  },
);
