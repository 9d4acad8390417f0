/** The checks that nobody asks for: how many at once, what each stores and logs, and when a round ends. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { DomainChecker } from '../../../src/flow/domains/checker.ts';
import type { DomainCheck } from '../../../src/store/domains.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { dkimLabel } from '../../../src/flow/seal-labels.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { openFixture, silentResolver, type Fixture, type RequestSender } from '../fixture.ts';

const HOUR_MS = 3_600_000;
const NODATA = { kind: 'nodata', isAuthenticated: false } as const;

let fixture: Fixture;
let sender: RequestSender;
beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
});
afterEach(() => fixture.close());

interface Script {
  /** Of any accounts; they are due at once. */
  domains: Domain[];
  txt: (name: string) => Promise<DnsAnswer<string>>;
  /** Accounts of one part of the walk. */
  part?: number;
}

function start({ domains, txt, part = 100 }: Script) {
  const { ctx } = fixture;
  const rows = new Map(domains.map((domain) => [domain.id, { ...domain, nextCheckAt: 0 }]));
  const asked: unknown[][] = [];
  const checks: DomainCheck[] = [];
  let forgotten = 0;
  const none = async () => NODATA;
  const dueOf = (now: number) =>
    [...rows.values()].filter(({ nextCheckAt }) => nextCheckAt !== null && nextCheckAt <= now);
  const checker = new DomainChecker({
    ...ctx,
    resolver: { ...silentResolver(), txt, cname: none, a: none, aaaa: none, mx: none },
    senderDomains: { forget: () => (forgotten += 1) } as unknown as typeof ctx.senderDomains,
    store: {
      ...ctx.store,
      async accountsToCheck(now, after) {
        asked.push(['accounts', now, after]);
        const accountIds = [...new Set(dueOf(now).map(({ accountId }) => accountId))]
          .toSorted()
          .filter((id) => after === null || id > after)
          .slice(0, part);
        return { accountIds, last: accountIds.length < part ? null : (accountIds.at(-1) ?? null) };
      },
      async domainsDue(accountId, now, limit) {
        asked.push(['domains', accountId, now, limit]);
        const own = dueOf(now).filter((domain) => domain.accountId === accountId);
        return own.slice(0, limit).map(({ id }) => id);
      },
      domain: async (accountId, id) => {
        const row = rows.get(id) ?? null;
        return row?.accountId === accountId ? row : null;
      },
      async finishDomainCheck(check) {
        checks.push(check);
        const row = rows.get(check.id);
        if (row !== undefined)
          rows.set(check.id, { ...row, nextCheckAt: check.nextCheckAt ?? 9e15 });
      },
    },
  });
  const run = (signal = new AbortController().signal) => checker.run(signal);
  const add = (domain: Domain) => rows.set(domain.id, { ...domain, nextCheckAt: 0 });
  const postpone = (domain: Domain) => rows.set(domain.id, { ...domain, nextCheckAt: 9e15 });
  const remove = (id: string) => rows.delete(id);
  return { checker, asked, checks, run, add, postpone, remove, forgotten: () => forgotten };
}

/** Domains of an account, with the account's name in theirs. */
const some = (count: number, accountId = 'a'): Promise<Domain[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => ({
      ...(await fixture.verified(sender, `d${n}.${accountId}.example`)),
      accountId,
      sealedDkimKey: fixture.ctx.secrets.seal('no key', dkimLabel('x')),
    })),
  );

/** A resolver that answers when it is told, and the names that it was asked for. */
function slowTxt(isSlow: (name: string) => boolean = () => true) {
  const waiting: { name: string; answer: () => void }[] = [];
  const txt = (name: string) =>
    isSlow(name)
      ? new Promise<typeof NODATA>((resolve) => {
          waiting.push({ name, answer: () => resolve(NODATA) });
        })
      : Promise.resolve(NODATA);
  return { txt, waiting };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
/** Answers all that is asked, until the run has ended. */
async function answerAll(running: Promise<void>, waiting: { answer: () => void }[]): Promise<void> {
  const state = { isOver: false };
  const ended = running.finally(() => (state.isOver = true));
  while (!state.isOver) {
    for (const { answer } of waiting.splice(0)) answer();
    await tick();
  }
  await ended;
}

async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await tick();
}

test('a round looks every half minute, the first at once', () => {
  const { checker } = start({ domains: [], txt: async () => NODATA });
  expect([checker.firstMs, checker.everyMs(), checker.failure]).toEqual([
    0,
    30_000,
    {
      event: 'domain_checks_failed',
      hint: 'The next round is tried in half a minute; look at the disk and the database.',
    },
  ]);
});

test('eight are checked at once, four of an account, and another begins as soon as one has ended', async () => {
  const domains = [...(await some(9)), ...(await some(9, 'b')), ...(await some(9, 'c'))];
  const { txt, waiting } = slowTxt();
  const { checks, run, asked } = start({ domains, txt });
  const now = fixture.clock.steady();
  const running = run();
  await settle();
  // Three texts of each are asked for at once.
  const under = (names: string) => waiting.filter(({ name }) => name.endsWith(names)).length / 3;
  expect([under('.a.example'), under('.b.example'), under('.c.example')]).toEqual([4, 4, 0]);
  expect(asked).toEqual([
    ['accounts', now, null],
    ['domains', 'a', now, 4],
    ['domains', 'b', now, 4],
  ]);
  const ofOne = waiting.filter(({ name }) => name.endsWith('d1.a.example'));
  for (const { answer } of ofOne) answer();
  await settle();
  // Its policy is asked for once more, at the organisational domain.
  for (const { answer } of waiting.splice(24)) answer();
  await settle();
  expect([checks.length, under('.c.example')]).toEqual([1, 1]);
  await answerAll(running, waiting);
  expect(new Set(checks.map(({ id }) => id))).toEqual(new Set(domains.map(({ id }) => id)));
  expect(checks).toHaveLength(27);
});

test('an account whose name servers do not answer keeps others waiting for four of its domains at most', async () => {
  const slow = await some(40, 'a');
  const others = await Promise.all(['b', 'c', 'd'].map((name) => some(1, name)));
  const { txt, waiting } = slowTxt((name) => name.endsWith('.a.example'));
  const { checks, run } = start({ domains: [...slow, ...others.flat()], txt });
  const over = new AbortController();
  const running = run(over.signal);
  await settle();
  expect(checks.map(({ id }) => id).toSorted()).toEqual(
    others
      .flat()
      .map(({ id }) => id)
      .toSorted(),
  );
  expect(new Set(waiting.map(({ name }) => name)).size).toBe(12);
  over.abort();
  await answerAll(running, waiting);
  expect(checks).toHaveLength(7);
});

test('rounds are made until nothing is due, and between walks over all accounts those alone that have more', async () => {
  const domains = [...(await some(9)), ...(await some(1, 'b')), ...(await some(5, 'c'))];
  const { checks, run, asked } = start({ domains, txt: async () => NODATA, part: 2 });
  await run();
  expect(checks).toHaveLength(15);
  const seen = asked.map(([what, account, after]) => (what === 'accounts' ? after : account));
  const [first, second, third] = [[null, 'a', 'b', 'b', 'c'], ['a', 'c'], ['a']];
  expect(seen).toEqual([...(first ?? []), ...(second ?? []), ...(third ?? []), null]);
});

test.each([
  [999, 'domains'],
  [1_000, 'accounts'],
])('a round that has lasted %d ms is followed by a question for %s', async (lastedMs, what) => {
  const { txt, waiting } = slowTxt();
  const { run, asked } = start({ domains: await some(12), txt });
  const over = new AbortController();
  const running = run(over.signal);
  await settle();
  expect(asked.map(([first]) => first)).toEqual(['accounts', 'domains']);
  await fixture.clock.advance(lastedMs);
  while (asked.length === 2) {
    for (const { answer } of waiting.splice(0)) answer();
    await tick();
  }
  expect(asked[2]?.[0]).toBe(what);
  over.abort();
  await answerAll(running, waiting);
});

test('a run ends with the appliance; what is under way ends and is stored', async () => {
  const domains = [...(await some(5)), ...(await some(5, 'b')), ...(await some(3, 'c'))];
  const over = new AbortController();
  const { txt, waiting } = slowTxt();
  const { asked, checks, run } = start({ domains, txt });
  const running = run(over.signal);
  await settle();
  over.abort();
  await answerAll(running, waiting);
  expect([asked.filter(([what]) => what === 'accounts').length, checks.length]).toEqual([1, 8]);
});

test('a domain that was checked or removed while others were is left out', async () => {
  const others = [...(await some(4)), ...(await some(4, 'b'))];
  const [first, second, third] = await some(3, 'c');
  if (first === undefined || second === undefined || third === undefined) throw new Error('three');
  const { txt, waiting } = slowTxt();
  const domains = [...others, first, second, third];
  const { asked, checks, run, remove, postpone } = start({ domains, txt });
  const running = run();
  await settle();
  while (!asked.some(([, accountId]) => accountId === 'c')) {
    waiting.shift()?.answer();
    await settle();
  }
  // All three of the third account were due when it was asked for them.
  remove(second.id);
  postpone(third);
  await answerAll(running, waiting);
  expect(checks.map(({ id }) => id).toSorted()).toEqual(
    [...others, first].map(({ id }) => id).toSorted(),
  );
});

test('a domain that changes its status is logged, forgotten for senders, and one that does not is not logged', async () => {
  const [domain] = await some(1);
  if (domain === undefined) throw new Error('no domain');
  const old = { ...domain, failingSince: fixture.clock.steady() - 72 * HOUR_MS };
  const { checks, run, add, forgotten } = start({ domains: [old], txt: async () => NODATA });
  await run();
  expect([checks[0]?.status, forgotten()]).toEqual(['failed', 1]);
  expect(fixture.logged).toEqual([
    {
      time: '2026-01-15T12:00:00.000Z',
      level: 'info',
      event: 'domain_status',
      domain: 'd0.a.example',
      status: 'failed',
    },
  ]);
  add(domain);
  await run();
  expect([checks[1]?.status, forgotten(), fixture.logged.length]).toEqual(['verified', 2, 1]);
});

test('a domain that cannot be checked is put off by an hour with everything that it was, and logged as a fault', async () => {
  const [made] = await some(1);
  if (made === undefined) throw new Error('no domain');
  const domain: Domain = {
    ...made,
    status: 'pending',
    recordStates: { DKIM: 'verified', SPF: 'pending' },
    verifiedAt: 3,
    failingSince: 4,
    pendingSince: 5,
  };
  const { clock, logged } = fixture;
  const { checks, run, forgotten } = start({
    domains: [domain],
    txt: async () => ({
      kind: 'found',
      records: [`v=DKIM1; p=${domain.dkimPublicKey}`],
      ttlSeconds: 0,
      isAuthenticated: false,
    }),
  });
  clock.jump(HOUR_MS);
  await run();
  expect(checks).toEqual([
    {
      id: domain.id,
      now: clock.now(),
      status: 'pending',
      recordStates: { DKIM: 'verified', SPF: 'pending' },
      verifiedAt: 3,
      nextCheckAt: clock.steady() + HOUR_MS,
      failingSince: 4,
      pendingSince: 5,
    },
  ]);
  expect(forgotten()).toBe(1);
  expect(logged).toEqual([
    {
      time: '2026-01-15T13:00:00.000Z',
      level: 'error',
      event: 'domain_check_failed',
      domain: 'd0.a.example',
      error: expect.anything(),
      hint: 'If the stored key cannot be opened, the secret key file is not the one it was sealed with.',
    },
  ]);
});

test('a change of status that could not be stored is not logged, and the round fails', async () => {
  const [domain] = await some(1);
  if (domain === undefined) throw new Error('no domain');
  const old = { ...domain, failingSince: fixture.clock.steady() - 72 * HOUR_MS };
  const { store } = fixture.ctx;
  const none = async () => NODATA;
  const checker = new DomainChecker({
    ...fixture.ctx,
    resolver: { ...silentResolver(), txt: none, cname: none, a: none, aaaa: none, mx: none },
    store: {
      ...store,
      accountsToCheck: async () => ({ accountIds: ['a'], last: null }),
      domainsDue: async () => [old.id],
      domain: async () => ({ ...old, nextCheckAt: 0 }),
      finishDomainCheck: () => Promise.reject(new Error('disk full')),
    },
  });
  const round = checker.run(new AbortController().signal);
  expect(await round.catch(String)).toBe('Error: disk full');
  expect(fixture.logged).toEqual([]);
});
