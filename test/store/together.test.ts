/**
 * What shares a commit, in each kind of store: every answer, and every row that is left, compared with together.txt.
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STORY=1, and read the difference.
 */
import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { textOfParts } from './story-rows.ts';
import { eachStorage } from './stores.ts';
import * as ends from './together-ends.ts';
import { tellAcceptances, tellBeginnings, tellOwners } from './together.ts';
import type { Told } from './together.ts';

const FILE = join(import.meta.dir, 'together.txt');

eachStorage(
  'what shares a commit is decided one after the other',
  async (storage) => {
    const told: Told = {};
    const text = await textOfParts(storage, [
      [
        'mail whose attempts begin',
        tellOwners,
        async (story) => Object.assign(told, await tellAcceptances(story)),
        (story) => tellBeginnings(story, told),
      ],
      ['ends and suppressions', (story) => ends.tellEnds(story, told), ends.tellSuppressions],
      ['calls and requests', ends.tellCalls, ends.tellLogs],
      ['an account goes', (story) => ends.tellGone(story, told)],
    ]);
    if (process.env['POSTRIDER_WRITE_STORY'] === '1') writeFileSync(FILE, text);
    expect(text.split('\n')).toEqual(readFileSync(FILE, 'utf8').split('\n'));
  },
  30_000,
);
