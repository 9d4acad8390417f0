/**
 * One story told to each kind of store, and every answer compared with story.txt (docs/decisions.md D480).
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STORY=1, and read the difference.
 */
import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import type { NewMessage } from '../../src/store/journey.ts';
import { tellBeginning } from './story-beginning.ts';
import { STORY_FILE, Story } from './story.ts';
import * as account from './story-account.ts';
import * as end from './story-end.ts';
import * as hooks from './story-hooks.ts';
import { askMail, askPages } from './story-lists.ts';
import { eachStorage } from './stores.ts';

async function askAll(story: Story, messages: NewMessage[]): Promise<void> {
  await account.askAccounts(story);
  await account.askDomains(story);
  await hooks.askSuppressions(story);
  await askMail(story, messages);
  await hooks.askEndpoints(story);
  await end.askPeople(story);
}

eachStorage(
  'every answer to the story is that of story.txt',
  async (storage) => {
    const store = await storage.open();
    const story = new Story(store);
    try {
      const messages = await tellBeginning(story);
      await askPages(story);
      await hooks.tellCalls(story);
      await askAll(story, messages);
      for (const change of [end.tellErasure, end.tellRetention, end.tellDeletion]) {
        await change(story);
        await askAll(story, messages);
      }
    } finally {
      await store.close();
    }
    if (process.env['POSTRIDER_WRITE_STORY'] === '1')
      writeFileSync(STORY_FILE, story.blocks.join('\n'));
    expect(story.blocks).toEqual(readFileSync(STORY_FILE, 'utf8').split(/\n(?=> )/));
  },
  30_000,
);
