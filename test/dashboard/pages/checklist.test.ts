/** The steps to the first delivered email: each is ticked by what is there, and the list goes with the first delivery. */
import { expect, test } from 'bun:test';
import { checklist } from '../../../src/dashboard/pages/checklist.ts';
import { findings } from '../../../src/dashboard/pages/overview.ts';
import type { Visit } from '../../../src/dashboard/frame/visit.ts';
import { TestClock } from '../../rig/clock.ts';
import { rowsOf, textOf } from '../page-text.ts';

interface There {
  delivered?: number;
  accounts?: string[];
  domains?: { id: string; accountId: string; status: string }[];
  keys?: { revokedAt: number | null }[];
  endpoints?: object[];
  levels?: string[] | null;
}

/** The list of a server that has these. */
async function listOf(there: There): Promise<string | null> {
  const { accounts = ['a'], levels = null } = there;
  const of =
    <T>(list: T[] | undefined) =>
    (id: string) =>
      Promise.resolve(id === accounts[0] ? (list ?? []) : []);
  const store = {
    outcomes: () => Promise.resolve([{ delivered: there.delivered ?? 0 }]),
    accounts: () => Promise.resolve(accounts.map((id) => ({ id, name: id }))),
    domains: of(there.domains),
    keys: of(there.keys),
    endpoints: of(there.endpoints),
  };
  const found = levels && { checkedAt: 0, findings: levels.map((level) => ({ level })) };
  const visit = {
    ctx: { store, clock: new TestClock() },
    parts: { vitals: { findings: found } },
    may: () => true,
  } as unknown as Visit;
  return (await checklist(visit))?.toString() ?? null;
}

/** The titles of the steps that are done. */
const doneOf = (shown: string): string[] =>
  Array.from(
    shown.matchAll(/<li class="done">.*?<a href="[^"]*">([^<]*)<\/a>/gs),
    ([, title = '']) => title,
  );

const domain = (status: string) => ({ id: 'd', accountId: 'a', status });

test.each([
  [{}, []],
  [{ levels: ['ok', 'warning'] }, ['The host is ready']],
  [{ levels: ['ok', 'error'] }, []],
  [{ domains: [domain('pending')] }, ['Add the domain you send from']],
  [{ domains: [domain('failed')] }, ['Add the domain you send from']],
  [
    { domains: [domain('pending'), domain('verified')] },
    ['Add the domain you send from', 'Publish its DNS records'],
  ],
  [{ keys: [{ revokedAt: 5 }] }, []],
  [{ keys: [{ revokedAt: 5 }, { revokedAt: null }] }, ['Have an API key']],
  [{ endpoints: [{}] }, ['Add a webhook (if you want one)']],
] as [There, string[]][])('with %j these are done: %j', async (there, done) => {
  const shown = (await listOf(there)) ?? '';
  expect(doneOf(shown)).toEqual(done);
  expect(textOf(shown)).toContain(`${done.length} of 6`);
});

test('it is there until an email was delivered', async () => {
  expect(await listOf({ delivered: 0 })).not.toBeNull();
  expect(await listOf({ delivered: 1 })).toBeNull();
});

test('without an account it begins with one; with a domain its records are one link away', async () => {
  expect(await listOf({ accounts: [] })).toContain('href="/dashboard/accounts"');
  const shown = (await listOf({ accounts: ['a', 'b'], domains: [domain('pending')] })) ?? '';
  expect(shown).toContain('href="/dashboard/accounts/a/domains/d"');
  expect(shown).toContain('href="/dashboard/accounts/a/keys"');
});

test('the host says how many errors it has', async () => {
  const said = async (levels: string[] | null) => textOf((await listOf({ levels })) ?? '');
  expect(await said(null)).toContain('The first check of this machine is still running.');
  expect(await said(['error'])).toContain('The host check found 1 error; each');
  expect(await said(['error', 'error', 'warning'])).toContain(
    'The host check found 2 errors; each',
  );
});

test('findings are shown unless they are good, with what to do', () => {
  const parts = (levels: string[] | null): Visit['parts'] => {
    const list = (levels ?? []).map((level) => ({ level, summary: `${level} <s>`, advice: 'Do.' }));
    const last = levels && { checkedAt: Date.UTC(2026, 2, 1), findings: list };
    return { vitals: { findings: last } } as unknown as Visit['parts'];
  };
  expect(textOf(String(findings(parts(null))))).toBe('The first check is still running.');
  const shown = String(findings(parts(['ok', 'warning', 'error'])));
  expect(rowsOf(shown)).toEqual([
    { Level: 'warning', Finding: 'warning <s>', 'What to do': 'Do.' },
    { Level: 'error', Finding: 'error <s>', 'What to do': 'Do.' },
  ]);
  expect(textOf(shown)).toContain('Checked at 2026-03-01 00:00:00 UTC .');
  expect(textOf(String(findings(parts(['ok', 'ok']))))).toContain('All 2 checks passed.');
});
