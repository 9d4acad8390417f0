/**
 * The reference is as it was published and read: docs/openapi.json is what every server hands out, and no word of a page
 * changes without being looked at.
 */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import {
  apiDocument,
  DOCUMENT_FILE,
  pageMarks,
  PAGES_FILE,
} from '../../../scripts/api-reference.ts';

test('docs/openapi.json is the document', () => {
  // When this fails and the change is meant: bun scripts/api-reference.ts, and read the difference.
  expect(JSON.parse(readFileSync(DOCUMENT_FILE, 'utf8'))).toEqual(JSON.parse(apiDocument()));
});

test('the pages at /docs are those that were read last', () => {
  // When this fails, look at the page; if it is right: bun scripts/api-reference.ts.
  expect(pageMarks()).toEqual(JSON.parse(readFileSync(PAGES_FILE, 'utf8')));
});
