/** The dashboard of a busy server, with each response as it stands in the files of busy/. */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { busyWalk, FOLDER } from './busy-walk.ts';
import { STEPS } from './busy-steps.ts';

let seen: Map<string, string[]>;
beforeAll(async () => {
  seen = await busyWalk();
}, 60_000);

const PARTS = [...new Set(STEPS.map(({ part }) => part))];

test('there is a file for each part', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(PARTS.map((part) => `${part}.txt`).toSorted());
});

test.each(
  PARTS.flatMap((part) =>
    STEPS.filter((step) => step.part === part).map(
      ({ method = 'GET', path, who = 'admin' }, at) => [part, at, method, path, who] as const,
    ),
  ),
)('%s %d: %s %s as %s', (part, at) => {
  const blocks = readFileSync(join(FOLDER, `${part}.txt`), 'utf8').split(/\n(?=> (?:GET|POST) )/);
  // When this fails and the change is meant: bun test/dashboard/busy-walk.ts, and read the difference.
  expect(seen.get(part)?.[at]).toBe(blocks[at] ?? '');
  expect(blocks).toHaveLength(seen.get(part)?.length ?? 0);
});
