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
  /** The domains of each look. */
  due: Domain[][];
  txt: (name: string) => Promise<DnsAnswer<string>>;
}

function start({ due, txt }: Script) {
  const { ctx } = fixture;
  const looks: unknown[] = [];
  const checks: DomainCheck[] = [];
  let forgotten = 0;
  const none = async () => NODATA;
  const checker = new DomainChecker({
    ...ctx,
    resolver: { ...silentResolver(), txt, cname: none, a: none, aaaa: none, mx: none },
    senderDomains: { forget: () => (forgotten += 1) } as unknown as typeof ctx.senderDomains,
    store: {
      ...ctx.store,
      async domainsDue(...args) {
        looks.push(args);
        return due.shift() ?? [];
      },
      async finishDomainCheck(check) {
        checks.push(check);
      },
    },
  });
  const run = (signal = new AbortController().signal) => checker.run(signal);
  return { checker, looks, checks, run, forgotten: () => forgotten };
}

const some = (count: number): Promise<Domain[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => ({
      ...(await fixture.verified(sender, `d${n}.example`)),
      sealedDkimKey: fixture.ctx.secrets.seal('no key', dkimLabel('x')),
    })),
  );

test('a round looks every half minute, the first at once', () => {
  const { checker } = start({ due: [], txt: async () => NODATA });
  expect([checker.firstMs, checker.everyMs(), checker.failure]).toEqual([
    0,
    30_000,
    {
      event: 'domain_checks_failed',
      hint: 'The next round is tried in half a minute; look at the disk and the database.',
    },
  ]);
});

test('eight are checked at once, and the next eight when all of them have ended', async () => {
  const [first, second] = [await some(8), await some(3)];
  let asking = 0;
  let most = 0;
  const { clock } = fixture;
  const { looks, checks, run } = start({
    due: [first, second],
    async txt() {
      asking += 1;
      most = Math.max(most, asking);
      await new Promise((resolve) => setImmediate(resolve));
      asking -= 1;
      return NODATA;
    },
  });
  clock.jump(HOUR_MS);
  await run();
  const by = [clock.steady(), 8];
  expect(looks).toEqual([by, by]);
  expect(checks.map(({ id }) => id).toSorted()).toEqual(
    [...first, ...second].map(({ id }) => id).toSorted(),
  );
  // Three texts of each are asked for at once.
  expect(most).toBe(24);
});

test('a round of less than eight is the last, and so is one that ends with the appliance', async () => {
  for (const [count, isStopped, expected] of [
    [7, false, 1],
    [8, false, 2],
    [8, true, 1],
  ] as const) {
    const over = new AbortController();
    const { looks, checks, run } = start({
      due: [await some(count), []],
      async txt() {
        if (isStopped) over.abort();
        return NODATA;
      },
    });
    await run(over.signal);
    // What is under way ends and is stored.
    expect([looks.length, checks.length]).toEqual([expected, count]);
  }
});

test('a domain that changes its status is logged, forgotten for senders, and one that does not is not logged', async () => {
  const [domain] = await some(1);
  if (domain === undefined) throw new Error('no domain');
  const old = { ...domain, failingSince: fixture.clock.steady() - 72 * HOUR_MS };
  const { checks, run, forgotten } = start({ due: [[old], [domain]], txt: async () => NODATA });
  await run();
  expect([checks[0]?.status, forgotten()]).toEqual(['failed', 1]);
  expect(fixture.logged).toEqual([
    {
      time: '2026-01-15T12:00:00.000Z',
      level: 'info',
      event: 'domain_status',
      domain: 'd0.example',
      status: 'failed',
    },
  ]);
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
    due: [[domain]],
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
      domain: 'd0.example',
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
      domainsDue: async () => [old],
      finishDomainCheck: () => Promise.reject(new Error('disk full')),
    },
  });
  const round = checker.run(new AbortController().signal);
  expect(await round.catch(String)).toBe('Error: disk full');
  expect(fixture.logged).toEqual([]);
});
