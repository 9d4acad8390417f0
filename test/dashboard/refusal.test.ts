/** What stands where a form was refused: its page with every reason, or the reasons alone where there is no such page. */
import { expect, test } from 'bun:test';

import { ApiError, validationFailed } from '../../src/base/errors.ts';
import { refusalPage, shownAgain } from '../../src/dashboard/refusal.ts';
import { findPage } from '../../src/dashboard/pages/routes.ts';
import type { Page } from '../../src/dashboard/frame/visit.ts';
import { account, markup, pageText, type Parts, visitOf } from './drawn/page.ts';
import { newDomain } from '../store/samples.ts';
import { textOf } from './page-text.ts';

const page = (mainField?: string): Page => ({
  method: 'POST',
  path: '/x',
  open: () => expect.unreachable(),
  ...(mainField !== undefined && { mainField }),
});
const TWO = validationFailed([
  { path: 'name', message: 'No <name>.' },
  { path: 'plan', message: 'No plan.' },
]);
const TAKEN = new ApiError('conflict', 'Taken <now>.');
const CONFIG = { config: { live: { plans: new Map() } } };

/** The page of a form that was posted to `path`, and of which account it was asked for. */
async function again(
  path: string,
  error: ApiError,
  { mainField, ...parts }: Parts & { mainField?: string } = {},
) {
  const asked: unknown[] = [];
  const visit = visitOf({
    form: { name: '<written>', plan: 'p', reason: 'why' },
    ctx: CONFIG,
    store: {
      account: (id: string) => {
        asked.push(id);
        return Promise.resolve({ ...account, id });
      },
    },
    ...parts,
  });
  return { shown: await shownAgain(visit, page(mainField), path, error), asked };
}

const alertIn = (text: string): string[] =>
  Array.from(text.matchAll(/role="alert">(.*?)<\/p>/gs), ([, words = '']) => textOf(words));
const messagesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(
      text.matchAll(/id="f-(\w+)-message"\s*>(.*?)<\/span/gs),
      ([, id = '', words = '']): [string, string] => [id, textOf(words)],
    ),
  );

test('every reason stands at the top and at its field, with what was entered', async () => {
  const { shown, asked } = await again('/accounts/own/edit', TWO, { params: { account: 'other' } });
  const text = shown === null ? '' : pageText(shown);
  expect(text).toStartWith('{"kind":"page","title":"Edit Shop <1>"');
  expect(alertIn(text)).toEqual(['No <name>. No plan.']);
  expect(messagesIn(text)).toEqual({ name: 'No <name>.', plan: 'No plan.' });
  expect(text).toContain('value="&lt;written&gt;"');
  // The account is that of the form's address.
  expect(asked).toEqual(['own']);
});

test('a reason without a field stands at the main field of the form, where it has one', async () => {
  const withMain = await again('/accounts/own/edit', TAKEN, { mainField: 'name' });
  const text = withMain.shown === null ? '' : pageText(withMain.shown);
  expect([alertIn(text), messagesIn(text)]).toEqual([['Taken <now>.'], { name: 'Taken <now>.' }]);
  const without = await again('/accounts/own/edit', TAKEN);
  const plain = without.shown === null ? '' : pageText(without.shown);
  expect([alertIn(plain), messagesIn(plain)]).toEqual([['Taken <now>.'], {}]);
});

const DOMAIN = { ...newDomain('acc', 'x.example'), id: 'd', status: 'verified' };
/** A server with one domain and nothing else. */
const STORE = {
  accounts: () => Promise.resolve([]),
  callAttempts: () => Promise.resolve({ rows: [], hasMore: false }),
  domain: () => Promise.resolve(DOMAIN),
  domains: () => Promise.resolve([DOMAIN]),
  endpoints: () => Promise.resolve([]),
  keys: () => Promise.resolve([]),
  nextDkimKey: () => Promise.resolve(null),
  operators: () => Promise.resolve([]),
  previousDkimKey: () => Promise.resolve(null),
  seenRecords: () => Promise.resolve({}),
  suppressions: () => Promise.resolve({ rows: [], hasMore: false }),
};

test.each([
  ['/accounts', 'name'],
  ['/accounts/acc/edit', 'name'],
  ['/accounts/acc/domains', 'name'],
  ['/accounts/acc/domains/d/test', 'to'],
  ['/accounts/acc/webhooks', 'endpoint'],
  ['/accounts/acc/suppressions', 'email'],
  ['/accounts/acc/suppressions/import', 'csv'],
  ['/accounts/acc/keys', 'name'],
  ['/operators', 'name'],
  ['/test-email', 'to'],
])('what is wrong with the form of %s as a whole stands at its %s', async (path, field) => {
  const found = findPage('POST', path);
  const store = {
    ...STORE,
    accounts: () => Promise.resolve(path === '/test-email' ? [account] : []),
  };
  const config = { live: { plans: new Map() }, startup: { cluster: { name: 'x.example' } } };
  const parts = { imports: { of: () => null } };
  const visit = visitOf({ form: { [field]: 'mine' }, ctx: { config }, store, parts });
  const shown = found && (await shownAgain(visit, found.page, path, TAKEN));
  const text = shown === null ? '' : pageText(shown);
  expect([alertIn(text), messagesIn(text)]).toEqual([
    ['Taken <now>.'],
    { [field]: 'Taken <now>.' },
  ]);
});

test('a page that updates itself stands still with its refused form', async () => {
  const parts = {
    vitals: { findings: null },
    backups: { last: { kind: 'running', startedAt: 0 } },
  };
  const startup = {
    hostname: 'h',
    cluster: { name: 'h' },
    delivery: { mode: 'direct' },
    dataDir: '',
  };
  const ctx = { config: { startup }, halt: { state: null } };
  const { shown } = await again('/settings/backup', TAKEN, { parts, ctx });
  expect([shown?.title, shown?.liveSeconds]).toEqual(['Settings', undefined]);
});

test('there is none where no page is above, where it is a file, and where its account is gone', async () => {
  const gone = { store: { account: () => Promise.resolve(null) } };
  expect((await again('/nothing/here', TAKEN)).shown).toBeNull();
  expect((await again('/resume', TAKEN)).shown).toBeNull();
  expect((await again('/accounts/own/suppressions/export/x', TAKEN)).shown).toBeNull();
  expect((await again('/accounts/own/edit', TAKEN, gone)).shown).toBeNull();
  const fault = { store: { account: () => Promise.reject(new TypeError('a fault')) } };
  expect(await again('/accounts/own/edit', TAKEN, fault).catch(String)).toBe('TypeError: a fault');
});

test('a refusal that belongs to no form is a page of its own', () => {
  const of = (error: ApiError) => {
    const { body, ...rest } = refusalPage(error);
    return [rest, markup(body)];
  };
  const rest = { kind: 'page' as const, title: 'The request was refused', account: null };
  const alert = (words: string) => `<p class="notice bad" role="alert">${words}</p>`;
  expect(of(TAKEN)).toEqual([rest, alert('Taken &lt;now&gt;.')]);
  expect(of(TWO)).toEqual([rest, alert('No &lt;name&gt;. No plan.')]);
});
