/**
 * The document keeps the rules of a linter: OpenAPI's own, and those of `redocly.yaml` beside this file.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { documentOf } from '../../../src/api/reference/document.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';

const RULES = readFileSync(join(import.meta.dir, 'redocly.yaml'), 'utf8');

/** Rule, location and words of everything that the linter finds. */
async function lint(document: object): Promise<string[]> {
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: 'openapi.json',
    config: await createConfig(RULES),
  });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`,
  );
}

test('the linter has nothing to say about the document', async () => {
  expect(await lint(documentOf(ROUTES))).toEqual([]);
});

test.each([
  ['a document without paths', { openapi: '3.1.0', info: {} }],
  ['a field that OpenAPI does not have', { ...documentOf(ROUTES), extra: 1 }],
  ['a path without its slash', { ...documentOf(ROUTES), paths: { emails: {} } }],
])('it would say something about %s', async (_, document) => {
  expect(await lint(document)).not.toEqual([]);
});
