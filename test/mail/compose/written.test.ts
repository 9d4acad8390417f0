/** Messages from parts, and submitted ones, to the last byte as they stand in written.txt. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { CASES, TRANSCRIPT_FILE, blockOf } from './written.ts';

const BLOCKS = readFileSync(TRANSCRIPT_FILE, 'utf8')
  .split(/^(?=# )/m)
  .map((block) => `${block.trimEnd()}\n`);

test('written.txt has one block a case', () => {
  expect(BLOCKS.map((block) => block.split('\n')[0])).toEqual(CASES.map(([title]) => `# ${title}`));
});

test.each(CASES.map((one, at) => [one[0], one, BLOCKS[at] ?? ''] as const))(
  '%s',
  async (_, one, block) => {
    // When this fails and the change is meant: bun test/mail/compose/written.ts, and read the difference.
    expect(`${(await blockOf(one)).trimEnd()}\n`).toBe(block);
  },
);
