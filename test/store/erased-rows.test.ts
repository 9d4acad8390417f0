/**
 * What erasing a person leaves in each kind of store: every answer and row, compared with erased-rows.txt.
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STORY=1, and read the difference.
 */
import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { tellErasure, tellNamed, tellPerson } from './erased-rows.ts';
import { textOfParts } from './story-rows.ts';
import { eachStorage } from './stores.ts';

const FILE = join(import.meta.dir, 'erased-rows.txt');

eachStorage(
  'everything that names a person goes, of one account and then of all, and the rest stays',
  async (storage) => {
    const text = await textOfParts(storage, [
      ['what there is', tellPerson, tellNamed],
      ['erased from one account', (story) => tellErasure(story, 'shop')],
      ['erased from all', (story) => tellErasure(story, null)],
    ]);
    if (process.env['POSTRIDER_WRITE_STORY'] === '1') writeFileSync(FILE, text);
    expect(text.split('\n')).toEqual(readFileSync(FILE, 'utf8').split('\n'));
  },
  30_000,
);
