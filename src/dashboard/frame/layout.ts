/**
 * What pages are made of: the frame around every page, tables, forms, badges, times.
 *
 * A page (`visit.ts`) returns a title and a body made with `html.ts`; `frame` puts the menus around it. Promises pages
 * that need no script and load nothing from another host. Notices after a form come from a fixed list, so that a link
 * cannot show its own text on the operator's page.
 */
import type { Account } from '../../store/rows.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import type { PageResponse } from './visit.ts';

export const ROOT = '/dashboard';
export const STYLE_PATH = `${ROOT}/style.css`;

const NOTICES: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  added: 'Added.',
  removed: 'Removed.',
  revoked: 'Key revoked. It no longer works.',
  enabled: 'Enabled. Pending calls continue.',
  retried: 'Recipients scheduled for delivery now',
  failed: 'Recipients marked as failed',
  replayed: 'Events scheduled for delivery again',
  halted: 'Sending halted: new sends are refused and deliveries are paused.',
  resumed: 'Sending resumed.',
};

/** Menu of one account: path below the account, and label. */
const ACCOUNT_MENU: readonly [path: string, label: string][] = [
  ['emails', 'Emails'],
  ['domains', 'Domains'],
  ['webhooks', 'Webhooks'],
  ['suppressions', 'Suppressions'],
  ['keys', 'API keys'],
  ['logs', 'Logs'],
];

/** A whole document. `notice`: from `noticeOf`. */
export function frame(
  page: PageResponse,
  accounts: readonly Account[],
  notice: string | null,
): Html {
  const account = page.account ?? accounts[0] ?? null;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${
          page.refreshSeconds !== undefined &&
          html`<meta http-equiv="refresh" content="${page.refreshSeconds}" />`
        }
        <title>${page.title} · Postrider</title>
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body>
        <header>
          <a class="brand" href="${ROOT}">Postrider</a>
          <nav>
            <a href="${ROOT}">Overview</a>
            <a href="${ROOT}/queue">Queue</a>
            <a href="${ROOT}/inbox">Inbox</a>
            <a href="${ROOT}/accounts">Accounts</a>
          </nav>
          <form method="post" action="${ROOT}/sign-out">
            <button class="plain">Sign out</button>
          </form>
        </header>
        ${account !== null && accountMenu(account, accounts, page.account !== null)}
        <main>
          <h1>${page.title}</h1>
          ${notice !== null && html`<p class="notice" role="status">${notice}</p>`} ${page.body}
        </main>
      </body>
    </html>`;
}

function accountMenu(account: Account, accounts: readonly Account[], isInside: boolean): Html {
  const base = accountPath(account);
  const others = accounts.filter(({ id }) => id !== account.id).slice(0, 20);
  return html`<nav class="${isInside ? 'account inside' : 'account'}">
    <strong>${account.name}</strong>
    ${ACCOUNT_MENU.map(([path, label]) => html`<a href="${base}/${path}">${label}</a>`)}
    ${
      others.length > 0 &&
      html`<details>
        <summary>Other accounts</summary>
        ${others.map((other) => html`<a href="${accountPath(other)}/emails">${other.name}</a>`)}
      </details>`
    }
  </nav>`;
}

/** The page for anyone who is not signed in. `problem`: why signing in failed; `to`: where it leads. */
export function signInPage(problem: string | null, to: string): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Sign in · Postrider</title>
        <link rel="stylesheet" href="${STYLE_PATH}" />
      </head>
      <body>
        <main class="sign-in">
          <h1>Postrider</h1>
          ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
          <form method="post" action="${ROOT}/sign-in">
            <input type="hidden" name="to" value="${to}" />
            <label
              >Dashboard password
              <input
                type="password"
                name="password"
                autocomplete="current-password"
                required
                autofocus
            /></label>
            <button>Sign in</button>
          </form>
        </main>
      </body>
    </html>`;
}

/** The notice for `?done=…&count=…`; null for any other query. */
export function noticeOf(query: URLSearchParams): string | null {
  const done = query.get('done') ?? '';
  const words = Object.hasOwn(NOTICES, done) ? NOTICES[done] : undefined;
  if (words === undefined) return null;
  const count = /^\d{1,9}$/.exec(query.get('count') ?? '')?.[0];
  return count === undefined ? words : `${words}: ${Number(count)}.`;
}

/** Path of the pages of an account. */
export function accountPath(account: Pick<Account, 'id'>): string {
  return `${ROOT}/accounts/${account.id}`;
}

/** A table, or the line `none` when it has no rows. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly HtmlValue[])[],
  none: string,
): Html {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Names and values of one object; rows without a value are left out. */
export function facts(rows: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  return html`<dl>
    ${rows
      .filter(([, value]) => value !== null && value !== false && value !== '')
      .map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
  </dl>`;
}

/** A button that posts to the path `to`. */
export function action(to: string, label: string, kind: 'plain' | 'danger' = 'plain'): Html {
  return html`<form class="inline" method="post" action="${to}">
    <button class="${kind}">${label}</button>
  </form>`;
}

/** A word in the colour of its meaning. */
export function badge(word: string): Html {
  return html`<span class="badge ${TONES[word] ?? 'neutral'}">${word.replaceAll('_', ' ')}</span>`;
}

const TONES: Readonly<Record<string, string>> = {
  delivered: 'good',
  verified: 'good',
  active: 'good',
  ok: 'good',
  done: 'good',
  sent: 'good',
  bounced: 'bad',
  complained: 'bad',
  failed: 'bad',
  error: 'bad',
  disabled: 'bad',
  revoked: 'bad',
  suppressed: 'fair',
  delivery_delayed: 'fair',
  deferred: 'fair',
  pending: 'fair',
  paused: 'fair',
  payment_required: 'fair',
  warning: 'fair',
};

/** A time in UTC, to the second. */
export function time(atMs: number | null): Html | null {
  if (atMs === null) return null;
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`;
}

/** Links to the first and the next page of a list. `query`: the filters to keep. */
export function pager(path: string, query: URLSearchParams, next: string | null): Html {
  const first = new URLSearchParams(query);
  const isFirst = !first.has('after');
  first.delete('after');
  const later = new URLSearchParams(first);
  if (next !== null) later.set('after', next);
  return html`<p class="pager">
    ${!isFirst && html`<a href="${path}?${first.toString()}">Newest</a>`}
    ${next !== null && html`<a href="${path}?${later.toString()}">Older</a>`}
  </p>`;
}
