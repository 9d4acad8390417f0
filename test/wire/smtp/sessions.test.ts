/** Sessions with receivers that say whatever they like: each command and the whole result, as they stand in sessions.txt. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { CASES, TRANSCRIPT_FILE, blockOf } from './sessions.ts';

const BLOCKS = readFileSync(TRANSCRIPT_FILE, 'utf8')
  .split(/^(?=# )/m)
  .map((block) => `${block.trimEnd()}\n`);

test('sessions.txt has one block a case', () => {
  expect(BLOCKS.map((block) => block.split('\n')[0])).toEqual(
    CASES.map(({ title }) => `# ${title}`),
  );
});

test.each(CASES.map((one, at) => [one.title, one, BLOCKS[at] ?? ''] as const))(
  '%s',
  async (_, one, block) => {
    // When this fails and the change is meant: bun test/wire/smtp/sessions.ts, and read the difference.
    expect(await blockOf(one)).toBe(block);
  },
);
