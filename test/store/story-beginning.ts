/** How the story begins: accounts and what they have, and their mail. */
import * as account from './story-account.ts';
import * as end from './story-end.ts';
import * as hooks from './story-hooks.ts';
import { tellMail } from './story-mail.ts';
import type { Story } from './story.ts';

/** Tells it, and gives the messages. */
export async function tellBeginning(story: Story): ReturnType<typeof tellMail> {
  await account.tellAccounts(story);
  await account.tellDomains(story);
  await hooks.tellEndpoints(story);
  await hooks.tellSuppressions(story);
  await end.tellPeople(story);
  return tellMail(story);
}
