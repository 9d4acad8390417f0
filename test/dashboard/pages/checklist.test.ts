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

/** The list of a server that has these; all belong to the account `owner`. */
async function listOf(there: There, owner?: string): Promise<string | null> {
  const { accounts = ['a'], levels = null } = there;
  const of =
    <T>(list: T[] | undefined) =>
    (id: string) =>
      Promise.resolve(id === (owner ?? accounts[0]) ? (list ?? []) : []);
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

test('the steps lead to the account that has the domain, whichever it is', async () => {
  const there = { accounts: ['a', 'b'], domains: [{ ...domain('pending'), accountId: 'b' }] };
  const shown =
    (await listOf({ ...there, keys: [{ revokedAt: null }], endpoints: [{}] }, 'b')) ?? '';
  for (const page of ['domains', 'domains/d', 'keys', 'webhooks']) {
    expect(shown).toContain(`href="/dashboard/accounts/b/${page}"`);
  }
  expect(shown).not.toContain('/accounts/a');
  // What others than the first have counts too.
  expect(doneOf(shown)).toEqual([
    'Add the domain you send from',
    'Have an API key',
    'Add a webhook (if you want one)',
  ]);
  const without = (await listOf({ accounts: ['a', 'b'] })) ?? '';
  expect(without).toContain('href="/dashboard/accounts/a/keys"');
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

test('the whole list says of each step why, and where', async () => {
  const [shown = '', bare = ''] = [
    await listOf({ levels: ['ok'], domains: [domain('pending')] }),
    await listOf({ levels: ['ok'] }),
  ].map((list) => list ?? '');
  const links = (list: string): string[] =>
    Array.from(list.matchAll(/<a href="([^"]*)"/g), ([, href = '']) => href);
  const of = (page: string): string => `/dashboard/accounts/a/${page}`;
  const end = [of('keys'), '/dashboard/test-email', of('webhooks')];
  expect(links(shown)).toEqual(['/dashboard#host', of('domains'), of('domains/d'), ...end]);
  expect(links(bare)).toEqual(['/dashboard#host', of('domains'), of('domains'), ...end]);
  const steps = Array.from(shown.matchAll(/<li class="\w+">(.*?)<\/li>/gs), ([, step = '']) =>
    textOf(step),
  );
  expect(steps).toEqual([
    '✓ The host is ready (done) Name, addresses, port 25, clock and disk are as receivers expect them.',
    '✓ Add the domain you send from (done) It gets a DKIM key of its own, and the records that prove you may send for it.',
    'Publish its DNS records (open) Copy them to your DNS provider. They are looked for by themselves until they are found.',
    'Have an API key (open) Programs send with it, by HTTP or as the password of SMTP. The installer printed the first.',
    'Send the first email and see it arrive (open) A test email goes the way of every other, so its arrival proves all of the above.',
    'Add a webhook (if you want one) (open) Your program is told what becomes of each email, such as bounces.',
  ]);
  expect(textOf(shown)).toStartWith('To your first delivered email 2 of 6');
  expect(textOf((await listOf({ accounts: [] })) ?? '')).toBe(
    'To your first delivered email Begin with an account : domains, keys and webhooks belong to one.',
  );
});

test('outcomes of ninety days count, and twenty accounts are looked at', async () => {
  const asked: unknown[] = [];
  const looked: string[] = [];
  const limits = new Set<number>();
  const none = (id: string, { limit }: { limit: number }) => {
    limits.add(limit);
    looked.push(id);
    return Promise.resolve([]);
  };
  const clock = new TestClock();
  const store = {
    outcomes: (query: unknown) => (asked.push(query), Promise.resolve([])),
    accounts: ({ limit }: { limit: number }) =>
      Promise.resolve(Array.from({ length: Math.min(limit, 21) }, (_, at) => ({ id: `${at}` }))),
    domains: none,
    keys: (_: string, { limit }: { limit: number }) => {
      limits.add(limit);
      return Promise.resolve([]);
    },
    endpoints: () => Promise.resolve([]),
  };
  const parts = { vitals: { findings: null } };
  await checklist({ ctx: { store, clock }, parts, may: () => true } as unknown as Visit);
  const now = clock.now();
  const from = now - 90 * 24 * 60 * 60 * 1000;
  expect(asked).toEqual([{ accountId: null, from, until: now + 1, bucket: 'day' }]);
  expect(looked).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
  expect([...limits]).toEqual([100]);
});
