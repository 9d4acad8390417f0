/** The menu around every page: what it offers to whom, and which entry is marked as the open one. */
import { expect, test } from 'bun:test';

import { mayOf, type Rights } from '../../../src/dashboard/access.ts';
import { html } from '../../../src/dashboard/frame/html.ts';
import { frame, type FrameView } from '../../../src/dashboard/frame/layout.ts';
import type { Account } from '../../../src/store/rows.ts';
import { newAccount } from '../../store/samples.ts';

const ACCOUNTS = Array.from({ length: 22 }, (_, at) => ({
  ...newAccount(`account ${at}`),
  id: `id-${at}`,
}));
const [SHOP, OTHER] = ACCOUNTS as [Account, Account];
const SERVER = ['Overview', 'Queue', 'Inbox', 'Accounts', 'Settings'];
const PEOPLE = ['Operators', 'Audit log'];
const OF_ACCOUNT = ['Emails', 'Domains', 'Webhooks', 'Suppressions', 'API keys', 'Logs', 'Usage'];
const END = 'API reference';

interface Seen {
  entries: string[];
  /** Labels of those that are marked. */
  current: string[];
  /** Addresses by label. */
  href: Record<string, string>;
}

function menuOf(
  rights: Rights | null,
  path: string,
  accounts: readonly Account[] = [SHOP],
  account: Account | null = null,
): Seen {
  const view: FrameView = {
    accounts,
    path,
    notice: null,
    halt: null,
    hasNodes: false,
    operator: rights === null ? null : { name: 'anna', ...rights },
    may: mayOf(rights ?? { role: 'admin', accountId: null }),
  };
  const page = frame({ kind: 'page', title: 'Page', account, body: html`` }, view).toString();
  const [menu = ''] = /<nav class="menu".*?<\/nav>/s.exec(page) ?? [];
  const seen: Seen = { entries: [], current: [], href: {} };
  for (const [, href = '', marks = '', label = ''] of menu.matchAll(
    /<a href="([^"]*)"([^>]*)>([^<]*)<\/a\s*>/g,
  )) {
    seen.entries.push(label);
    seen.href[label] = href;
    if (marks.includes('aria-current="page"')) seen.current.push(label);
  }
  return seen;
}

const ADMIN: Rights = { role: 'admin', accountId: null };

test('each sees the entries that open, and an emulator no people', () => {
  expect(menuOf(ADMIN, '').entries).toEqual([...SERVER, ...PEOPLE, ...OF_ACCOUNT, END, 'anna']);
  expect(menuOf({ ...ADMIN, role: 'read_only' }, '').entries).toEqual([
    ...SERVER,
    ...PEOPLE,
    ...OF_ACCOUNT,
    END,
    'anna (read-only)',
  ]);
  for (const role of ['admin', 'read_only'] as const) {
    const own = menuOf({ role, accountId: SHOP.id }, `/accounts/${SHOP.id}/emails`);
    expect(own.entries.slice(0, -1)).toEqual([...OF_ACCOUNT, END]);
  }
  expect(menuOf(null, '').entries).toEqual([...SERVER, ...OF_ACCOUNT, END]);
});

test.each([
  ['', 'Overview'],
  ['/queue', 'Queue'],
  ['/inbox/7', 'Inbox'],
  ['/accounts', 'Accounts'],
  ['/operators/anna', 'Operators'],
  [`/accounts/${SHOP.id}/emails`, 'Emails'],
  [`/accounts/${SHOP.id}/emails/7`, 'Emails'],
  [`/accounts/${SHOP.id}/logs`, 'Logs'],
  ['/profile', null],
])('at %j the one marked entry is %j', (path, label) => {
  expect(menuOf(ADMIN, path).current).toEqual(label === null ? [] : [label]);
});

test("the account's entries are of the account of the page; 20 others are listed, and then all", () => {
  const path = `/accounts/${OTHER.id}/keys`;
  const few = menuOf(ADMIN, path, [SHOP, OTHER], OTHER);
  expect(few.href['API keys']).toBe(`/dashboard/accounts/${OTHER.id}/keys`);
  expect(few.href[SHOP.name]).toBe(`/dashboard/accounts/${SHOP.id}/emails`);
  expect(few.entries).not.toContain(OTHER.name);
  expect(few.entries).not.toContain('All accounts');
  const others = ACCOUNTS.filter((one) => one !== OTHER).map(({ name }) => name);
  const listed = (count: number): string[] =>
    menuOf(ADMIN, path, ACCOUNTS.slice(0, count), OTHER).entries.filter((label) =>
      /^account|^All/.test(label),
    );
  expect(listed(21)).toEqual(others.slice(0, 20));
  expect(listed(22)).toEqual([...others.slice(0, 20), 'All accounts']);
});

/** A page as `ADMIN` sees it, unless told otherwise. */
function pageOf(more: Partial<FrameView>, page: { tools?: unknown; up?: object } = {}): string {
  const view: FrameView = {
    accounts: [SHOP],
    path: '',
    notice: null,
    halt: null,
    hasNodes: false,
    operator: null,
    may: mayOf(ADMIN),
    ...more,
  };
  const whole = { kind: 'page', title: 'The <page>', account: null, body: html`BODY`, ...page };
  return frame(whole as Parameters<typeof frame>[0], view).toString();
}

test('nothing stands empty: no list, notice, banner, tools or way up that has nothing in it', () => {
  const bare = pageOf({});
  for (const part of ['class="tools"', 'class="up"', 'role="status"', 'role="alert"'])
    expect(bare).not.toContain(part);
  expect(pageOf({}, { tools: null })).not.toContain('class="tools"');
  const closed = pageOf({ may: () => false });
  expect(closed).not.toMatch(/<ul>\s*<\/ul>/);
  expect(bare.replaceAll(/\s+/g, ' ')).toContain('<h1>The &lt;page&gt;</h1>');
  expect(bare).toContain('<title>The &lt;page&gt; · Postrider</title>');
  const full = pageOf(
    { notice: 'Saved.', halt: { since: 0, reason: 'Leak <1>.' } },
    { tools: html`TOOLS`, up: { label: 'Up <b>', href: '/dashboard/x' } },
  ).replaceAll(/\s+/g, ' ');
  for (const part of [
    '<div class="tools">TOOLS</div>',
    '<p class="up"><a href="/dashboard/x">← Up &lt;b&gt;</a></p>',
    '<p class="notice good" role="status">Saved.</p>',
    '1970-01-01 00:00:00 UTC</time>: Leak &lt;1&gt;. New sends are refused, deliveries are paused.',
    'action="/dashboard/resume"',
  ])
    expect(full).toContain(part);
});

test('nodes are in the menu where servers share a store', () => {
  expect(pageOf({ hasNodes: true })).toContain('href="/dashboard/nodes"');
  expect(pageOf({ hasNodes: false })).not.toContain('href="/dashboard/nodes"');
});
