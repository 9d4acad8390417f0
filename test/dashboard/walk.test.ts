/** Every page and form of the dashboard, with each response as it stands in the files of walk/. */
import { beforeAll, expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { PAGES } from '../../src/dashboard/pages/routes.ts';
import { FOLDER, walk } from './walk.ts';
import { STEPS } from './walk-steps.ts';

/** Other tests open these: their results are of DNS, of the machine, or of time that passes. */
const ELSEWHERE = new Set([
  'POST /settings/check',
  'POST /settings/backup',
  'POST /nodes/drain',
  'POST /accounts/:account/domains/:id/verify',
  'POST /accounts/:account/domains/:id/rotate',
  'POST /accounts/:account/webhooks/:id/test',
  'POST /operators/:name/password',
]);

let seen: Map<string, string[]>;
beforeAll(async () => {
  seen = await walk();
}, 60_000);

const PARTS = [...new Set(STEPS.map(({ part }) => part))];

test('every page is opened, and every form is sent', () => {
  const walked = STEPS.map(({ method = 'GET', path }) => `${method} ${path.replace(/\?.*/, '')}`);
  const missing = PAGES.map(({ method, path }) => `${method} ${path}`).filter((page) => {
    const pattern = new RegExp(`^${page.replaceAll(/:[a-z]+/g, '[^/]+')}$`);
    return !ELSEWHERE.has(page) && !walked.some((step) => pattern.test(step));
  });
  expect(missing).toEqual([]);
  expect(readdirSync(FOLDER).toSorted()).toEqual(PARTS.map((part) => `${part}.txt`).toSorted());
});

test.each(
  PARTS.flatMap((part) =>
    STEPS.filter((step) => step.part === part).map(
      ({ method = 'GET', path }, at) => [part, at, method, path] as const,
    ),
  ),
)('%s %d: %s %s', (part, at) => {
  const blocks = readFileSync(join(FOLDER, `${part}.txt`), 'utf8').split(/\n(?=> (?:GET|POST) )/);
  // When this fails and the change is meant: bun test/dashboard/walk.ts, and read the difference.
  expect(seen.get(part)?.[at]).toBe(blocks[at] ?? '');
  expect(blocks).toHaveLength(seen.get(part)?.length ?? 0);
});
