/**
 * Where things are: the paths of pages, the menus, tabs within a page, and the way through a list.
 *
 * Links only: everything here works without scripts. `data-swap` lets `enhance.js` show the page behind a link
 * without leaving this one; `rel` next and prev are what its keys `n` and `p` follow.
 */
import type { Account } from '../../store/rows.ts';
import { html, type Html } from './html.ts';

export const ROOT = '/dashboard';

/** Path below the menu's base, and label. */
export type MenuEntry = readonly [path: string, label: string];

export const SERVER_MENU: readonly MenuEntry[] = [
  ['', 'Overview'],
  ['queue', 'Queue'],
  ['inbox', 'Inbox'],
  ['accounts', 'Accounts'],
  ['nodes', 'Nodes'],
  ['settings', 'Settings'],
];

/** Not of an emulator, which asks nobody. */
export const PEOPLE_MENU: readonly MenuEntry[] = [
  ['operators', 'Operators'],
  ['audit', 'Audit log'],
];

/** Menu of one account: path below the account, and label. */
export const ACCOUNT_MENU: readonly MenuEntry[] = [
  ['emails', 'Emails'],
  ['domains', 'Domains'],
  ['webhooks', 'Webhooks'],
  ['suppressions', 'Suppressions'],
  ['keys', 'API keys'],
  ['logs', 'Logs'],
  ['usage', 'Usage'],
];

/** Path of the pages of an account. */
export function accountPath(account: Pick<Account, 'id'>): string {
  return `${ROOT}/accounts/${account.id}`;
}

/**
 * Links to the first and the next page of a list. `query`: the filters to keep. `next`: null on the last page. `words`:
 * of both, where the first page has not the newest.
 */
export function pager(
  path: string,
  query: URLSearchParams,
  next: string | null,
  words: readonly [first: string, next: string] = ['Newest', 'Older'],
): Html | null {
  const first = new URLSearchParams(query);
  const isFirst = !first.has('after');
  for (const name of ['after', 'done', 'count']) first.delete(name);
  const later = new URLSearchParams(first);
  if (next !== null) later.set('after', next);
  if (isFirst && next === null) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${
      !isFirst &&
      html`<a class="button plain" rel="prev" href="${path}?${first.toString()}">${words[0]}</a>`
    }
    ${
      next !== null &&
      html`<a class="button plain" rel="next" href="${path}?${later.toString()}">${words[1]}</a>`
    }
  </nav>`;
}

/**
 * Views of one page; `current` is the key of the open one. Each is a link, so that it can be opened and shared.
 * `small`: within another tab.
 */
export function tabs(
  label: string,
  current: string,
  list: readonly (readonly [key: string, label: string, href: string])[],
  size: 'small' | '' = '',
): Html {
  return html`<nav class="tabs ${size}" aria-label="${label}">
    ${list.map(
      ([key, words, href]) =>
        html`<a href="${href}" data-swap="" ${key === current && html`aria-current="true"`}
          >${words}</a
        >`,
    )}
  </nav>`;
}

/** The object before and after this one in its list; null where there is none. */
export function neighbours(previous: string | null, next: string | null): Html {
  return html`${
    previous !== null && html`<a class="button plain" rel="prev" href="${previous}">← Newer</a>`
  }
  ${next !== null && html`<a class="button plain" rel="next" href="${next}">Older →</a>`}`;
}
