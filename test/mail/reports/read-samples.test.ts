/** Every sample of the corpus, read to its last field, as it stands in read-samples.txt. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { SAMPLES, TRANSCRIPT_FILE, blockOf } from './read-samples.ts';

const BLOCKS = readFileSync(TRANSCRIPT_FILE, 'utf8')
  .split(/^(?=# )/m)
  .map((block) => `${block.trimEnd()}\n`);

test('read-samples.txt has one block a sample', () => {
  expect(BLOCKS.map((block) => block.split('\n')[0])).toEqual(SAMPLES.map((file) => `# ${file}`));
});

test.each(SAMPLES.map((file, at) => [file, BLOCKS[at] ?? '']))('%s', (file, block) => {
  // When this fails and the change is meant: bun test/mail/reports/read-samples.ts, and read the difference.
  expect(blockOf(file)).toBe(block);
});
