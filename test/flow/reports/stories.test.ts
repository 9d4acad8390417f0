/** Everything that a report leaves behind, in the stories of stories.ts, as it stands in stories.txt. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { STORIES, STORIES_FILE, tell } from './stories.ts';

const BLOCKS = readFileSync(STORIES_FILE, 'utf8').split(/\n(?=> )/);

test('stories.txt has one block a story', () => {
  expect(BLOCKS).toHaveLength(Object.keys(STORIES).length);
});

test.each(Object.keys(STORIES).map((name, at) => [name, at] as const))('%s', async (name, at) => {
  // When this fails and the change is meant: bun test/flow/reports/stories.ts, and read the difference.
  expect(await tell(name)).toBe(BLOCKS[at] ?? '');
});
