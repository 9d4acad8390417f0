/**
 * The frame around every page: head, menu, halt banner, notices, title; and the page for those who must sign in.
 *
 * A page (`visit.ts`) returns a title and a body made with `html.ts`; `frame` puts the rest around it. What a body is
 * made of, one file a kind:
 * - `navigation.ts`: paths, `tabs`, `pager`, links to the next and previous object
 * - `table.ts`: `table` (cards on a phone), `facts`, `tiles`, `card`, `empty` (says what to do next), `timeline`
 * - `values.ts`: `badge` by status, `time` (local, UTC on hover), `copyable`, `bytes`, `count`, `percent`
 * - `form.ts`: `form` with messages at its fields and kept values, `filters` of a list
 * - `chart.ts`: columns over time, drawn on the server, each with its table
 * - `action.ts`: `action` (a button that posts), `confirm` (asks first, without a script), `linkButton`; all for whom they open
 * Promises pages that work without scripts and load nothing from another host. `enhance.js` adds to them: live update
 * (`liveSeconds` of a page), links and filters that swap the page in place (`data-swap`), copy buttons, local times,
 * keys. A notice comes from the fixed list in `notices.ts`, so that a link cannot show its own text.
 */
import type { Operator } from '../../store/people.ts';
import type { Account } from '../../store/rows.ts';
import type { Halt } from '../../flow/halt-switch.ts';
import { action, type Viewer } from './action.ts';
import { ENHANCE_PATH, ICON_PATH, MORPH_PATH, STYLE_PATH } from './assets.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import {
  ACCOUNT_MENU,
  accountPath,
  PEOPLE_MENU,
  ROOT,
  SERVER_MENU,
  type MenuEntry,
} from './navigation.ts';
import { time } from './values.ts';
import type { PageResponse } from './visit.ts';

/** Most accounts in the menu's list of others; the page of accounts has all. */
const MOST_OTHERS = 20;
/** Most accounts that the menu needs: the page's own, the others, and one that says whether there are more. */
export const MOST_IN_MENU = MOST_OTHERS + 2;

/** What the frame shows besides the page. */
export interface FrameView extends Viewer {
  /** The oldest that this viewer sees, `MOST_IN_MENU` at most. */
  accounts: readonly Account[];
  /** Path of the request below `ROOT`, for the marked entry of the menu. */
  path: string;
  /** From `noticeOf`. */
  notice: string | null;
  halt: Halt | null;
  /** Whether servers share the store. */
  hasNodes: boolean;
  /** Who is signed in; null in an emulator. */
  operator: Pick<Operator, 'name' | 'role' | 'accountId'> | null;
}

/** A whole document. */
export function frame(page: PageResponse, view: FrameView): Html {
  const body = html`<a class="skip" href="#page">Skip to the page</a>
    <header class="top">
      <a class="brand" href="${ROOT}">${MARK}Postrider</a>
      <input
        type="checkbox"
        id="menu-toggle"
        class="menu-toggle"
        aria-label="Show the menu"
        data-keep=""
      />
      <label for="menu-toggle" class="menu-button" aria-hidden="true">Menu</label>
      ${menu(page, view)}
    </header>
    <main id="page" ${page.liveSeconds !== undefined && html`data-live="${page.liveSeconds}"`}>
      ${haltBanner(view)}
      ${view.notice !== null && html`<p class="notice good" role="status">${view.notice}</p>`}
      <div class="title">
        <div>
          ${
            page.up !== undefined &&
            html`<p class="up"><a href="${page.up.href}">← ${page.up.label}</a></p>`
          }
          <h1>${page.title}</h1>
        </div>
        ${page.tools !== undefined && page.tools !== null && html`<div class="tools">${page.tools}</div>`}
      </div>
      ${page.body}
    </main>`;
  return documentOf(page.title, body);
}

function documentOf(title: string, body: HtmlValue, bodyClass = ''): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Postrider</title>
        <link rel="icon" href="${ICON_PATH}" type="image/svg+xml" />
        <link rel="stylesheet" href="${STYLE_PATH}" />
        <script src="${ENHANCE_PATH}" defer blocking="render"></script>
        <script src="${MORPH_PATH}" defer></script>
      </head>
      <body class="${bodyClass}">
        ${body}
      </body>
    </html>`;
}

/** The sign of the product, in the colour of its class. */
const MARK = html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
  <path
    d="M3 6.5h18v11H3z M3 7l9 6.5L21 7"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linejoin="round"
  />
</svg>`;

function menu(page: PageResponse, view: FrameView): Html {
  const account = page.account ?? view.accounts[0] ?? null;
  const others = view.accounts.filter(({ id }) => id !== account?.id);
  const base = account === null ? '' : accountPath(account);
  const server = SERVER_MENU.filter(([below]) => below !== 'nodes' || view.hasNodes);
  return html`<nav class="menu" aria-label="Dashboard">
    ${entries(server, ROOT, view)} ${view.operator !== null && entries(PEOPLE_MENU, ROOT, view)}
    ${
      account !== null &&
      html`<p class="menu-head"><span>Account</span>${account.name}</p>
        ${entries(ACCOUNT_MENU, base, view)}`
    }
    ${
      others.length > 0 &&
      html`<details class="others">
        <summary>Other accounts</summary>
        <ul>
          ${others
            .slice(0, MOST_OTHERS)
            .map(
              (other) => html`<li><a href="${accountPath(other)}/emails">${other.name}</a></li>`,
            )}
        </ul>
        ${others.length > MOST_OTHERS && html`<a href="${ROOT}/accounts">All accounts</a>`}
      </details>`
    }
    <ul class="menu-end">
      <li><a href="/docs">API reference</a></li>
      ${view.operator !== null && ownEntries(view.operator)}
    </ul>
    <p class="keys" data-scripted="" hidden>
      <span><kbd>/</kbd> search</span> <span><kbd>n</kbd> next</span>
      <span><kbd>p</kbd> previous</span>
    </p>
  </nav>`;
}

function ownEntries({ name, role }: NonNullable<FrameView['operator']>): Html {
  return html`<li>
      <a href="${ROOT}/profile">${name}${role === 'read_only' && ' (read-only)'}</a>
    </li>
    <li>
      <form method="post" action="${ROOT}/sign-out"><button class="link">Sign out</button></form>
    </li>`;
}

function entries(list: readonly MenuEntry[], base: string, { path, may }: FrameView): Html | null {
  const here = `${ROOT}${path}`;
  const shown = list
    .map(([below, label]) => ({ below, label, href: below === '' ? base : `${base}/${below}` }))
    .filter(({ href }) => may('GET', href));
  if (shown.length === 0) return null;
  return html`<ul>
    ${shown.map(({ below, label, href }) => {
      const isHere = here === href || (below !== '' && here.startsWith(`${href}/`));
      const isInAccount = below === 'accounts' && here !== href;
      return html`<li>
        <a href="${href}" ${isHere && !isInAccount && html`aria-current="page"`}>${label}</a>
      </li>`;
    })}
  </ul>`;
}

function haltBanner(view: FrameView): Html | null {
  const { halt } = view;
  if (halt === null) return null;
  return html`<div class="notice bad banner" role="alert">
    <p>
      <strong>Sending is halted</strong> since ${time(halt.since)}: ${halt.reason} New sends are
      refused, deliveries are paused.
    </p>
    ${action(view, `${ROOT}/resume`, 'Resume sending')}
  </div>`;
}

/** The page for anyone who is not signed in. `problem`: why signing in failed; `to`: where it leads. */
export function signInPage(problem: string | null, to: string): Html {
  const body = html`<main class="sign-in">
    <h1>${MARK}Postrider</h1>
    ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
    <form class="fields" method="post" action="${ROOT}/sign-in">
      <input type="hidden" name="to" value="${to}" />
      <p class="field">
        <label for="name">Name</label>
        <input type="text" id="name" name="name" value="admin" autocomplete="username" required />
      </p>
      <p class="field">
        <label for="password">Dashboard password</label>
        <input
          type="password"
          id="password"
          name="password"
          autocomplete="current-password"
          required
          autofocus
        />
      </p>
      <p class="field">
        <label for="code">Code from your authenticator app</label>
        <input
          type="text"
          id="code"
          name="code"
          autocomplete="one-time-code"
          maxlength="40"
          aria-describedby="code-hint"
        />
        <span class="hint" id="code-hint"
          >Only if you have set one up; a recovery code does, too.</span
        >
      </p>
      <button>Sign in</button>
    </form>
    <p class="soft">
      The installer printed the password. A new one: <code>postrider password</code>
    </p>
  </main>`;
  return documentOf('Sign in', body, 'alone');
}
