/**
 * The rows that the story leaves in each kind of store, compared with story-rows.txt after each of its parts.
 *
 * When that fails and the change is meant: run this test with POSTRIDER_WRITE_STORY=1, and read the difference.
 */
import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import type { Store } from '../../src/store/store.ts';
import { Story } from './story.ts';
import * as account from './story-account.ts';
import * as end from './story-end.ts';
import * as hooks from './story-hooks.ts';
import { tellMail } from './story-mail.ts';
import * as more from './story-more.ts';
import { ROWS_FILE, changesOf, rowsOf } from './story-rows.ts';
import { eachStorage } from './stores.ts';

type Tell = (story: Story) => Promise<unknown>;

/** What is only told here is written down with its answers. */
const ANSWERED = 'later on';

const PARTS: readonly [title: string, ...tells: Tell[]][] = [
  [
    'accounts and what they own',
    account.tellAccounts,
    account.tellDomains,
    hooks.tellEndpoints,
    hooks.tellSuppressions,
    end.tellPeople,
  ],
  ['mail and calls', tellMail, hooks.tellCalls],
  [
    ANSWERED,
    more.tellSecrets,
    more.tellAttempts,
    more.tellReplays,
    more.tellDomains,
    more.tellOperators,
  ],
  ['an address is erased', end.tellErasure],
  ['time passes', end.tellRetention],
  ['an account goes', end.tellDeletion],
];

eachStorage(
  'every row that the story leaves is that of story-rows.txt',
  async (storage) => {
    let store: Store;
    const current = new Proxy({} as Store, {
      get: (_, verb: keyof Store) => (store[verb] as CallableFunction).bind(store),
    });
    const story = new Story(current);
    const texts: string[] = [];
    let before: Awaited<ReturnType<typeof rowsOf>> | null = null;
    for (const [title, ...tells] of PARTS) {
      store = await storage.open();
      const from = story.blocks.length;
      for (const tell of tells) await tell(story);
      if (title === ANSWERED) texts.push(...story.blocks.slice(from));
      await store.close();
      const source = await storage.source();
      const rows = await rowsOf(source, story);
      await source.close();
      texts.push(changesOf(title, before, rows));
      before = rows;
    }
    const text = texts.join('\n');
    if (process.env['POSTRIDER_WRITE_STORY'] === '1') writeFileSync(ROWS_FILE, text);
    expect(text.split('\n')).toEqual(readFileSync(ROWS_FILE, 'utf8').split('\n'));
  },
  30_000,
);
