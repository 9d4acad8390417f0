/** Each wording that a row of the bounce tables looks for has the outcome that wordings.txt gives it. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { outcomeOf, wordings, WORDINGS_FILE } from './wordings.ts';

/** Blocks of an outcome and the wordings that have it. */
const TOLD = readFileSync(WORDINGS_FILE, 'utf8')
  .trimEnd()
  .split('\n\n* ')
  .map((block) => block.replace(/^\* /, '').split('\n'));

test('each wording is classified as it was told', () => {
  for (const [outcome = '', ...words] of TOLD) {
    expect(words.map((one) => [one, outcomeOf(one)])).toEqual(words.map((one) => [one, outcome]));
  }
});

test('the wordings are those of the rows as they are', () => {
  expect(TOLD.flatMap(([, ...words]) => words).toSorted()).toEqual(wordings().toSorted());
});
