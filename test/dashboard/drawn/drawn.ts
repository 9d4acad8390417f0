/**
 * Parts of pages over made-up facts, as markup, so that each state of them is seen that a real server is seldom in.
 *
 *   bun test/dashboard/drawn/drawn.ts
 *
 * writes the files beside it anew, one for each part.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ACCOUNTS } from './accounts.ts';
import { ANSWERS } from './answers.ts';
import { CONTENT } from './content.ts';
import { DOMAINS } from './domains.ts';
import { FRAME } from './frame.ts';
import { HOOKS } from './hooks.ts';
import { INBOX } from './inbox.ts';
import { LISTS } from './lists.ts';
import { MAIL } from './mail.ts';
import { NODES } from './nodes.ts';
import { OVERVIEW } from './overview.ts';
import type { Drawing } from './page.ts';
import { PEOPLE } from './people.ts';
import { STATES } from './states.ts';
import { SPAM } from './spam.ts';
import { TIMELINE } from './timeline.ts';

export const PARTS: Readonly<Record<string, readonly Drawing[]>> = {
  accounts: ACCOUNTS,
  answers: ANSWERS,
  content: CONTENT,
  domains: DOMAINS,
  frame: FRAME,
  hooks: HOOKS,
  inbox: INBOX,
  lists: LISTS,
  mail: MAIL,
  nodes: NODES,
  overview: OVERVIEW,
  people: PEOPLE,
  spam: SPAM,
  states: STATES,
  timeline: TIMELINE,
};

export const fileOf = (part: string): string => join(import.meta.dir, `${part}.txt`);

/** The block of one drawing. */
export async function block([name, draw]: Drawing): Promise<string> {
  return `> ${name}\n${await draw()}\n`;
}

if (import.meta.main) {
  for (const [part, drawings] of Object.entries(PARTS)) {
    writeFileSync(fileOf(part), (await Promise.all(drawings.map(block))).join('\n'));
  }
}
