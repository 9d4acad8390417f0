/** What a look at DNS makes of a domain, rule by rule: only what is certainly missing counts. */
import { expect, test } from 'bun:test';
import type { DomainFindings } from '../../../src/flow/domains/check.ts';
import { afterCheck } from '../../../src/flow/domains/state.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 0, 15);
const CLOCK = new TestClock(NOW);

const found = { kind: 'found' } as const;
const missing = { kind: 'missing', reason: 'not there' } as const;
const unknown = { kind: 'unknown', reason: 'SERVFAIL' } as const;

const LOOKS = {
  complete: { records: { DKIM: found, SPF: found, DMARC: missing }, isProven: true },
  unproven: { records: { DKIM: found, SPF: found, DMARC: found }, isProven: false },
  lacking: { records: { DKIM: found, SPF: missing, DMARC: found }, isProven: true },
  silent: { records: { DKIM: unknown, SPF: found, DMARC: unknown }, isProven: false },
  worst: { records: { DKIM: unknown, SPF: missing, DMARC: unknown }, isProven: false },
} satisfies Record<string, DomainFindings>;

function domain(change: Partial<Domain>): Domain {
  return {
    id: 'd',
    accountId: 'a',
    name: 'acme.example',
    status: 'pending',
    selector: 'pr1',
    dkimPublicKey: '',
    sealedDkimKey: Buffer.of(0),
    recordStates: { DKIM: 'not_started', SPF: 'verified', DMARC: 'pending' },
    createdAt: 0,
    verifiedAt: null,
    lastCheckedAt: null,
    nextCheckAt: NOW,
    failingSince: null,
    pendingSince: NOW,
    deletedAt: null,
    ...change,
  };
}

const ago = (hours: number): number => NOW - hours * HOUR_MS;

test.each([
  // status, pending hours, failing hours, look, asked → status, failing hours
  ['pending', 1, null, 'complete', false, 'verified', null],
  ['pending', 1, null, 'unproven', false, 'pending', 0],
  ['pending', 1, null, 'lacking', false, 'pending', 0],
  ['pending', 71, 70, 'lacking', false, 'pending', 70],
  ['pending', 72, 70, 'lacking', false, 'failed', 70],
  ['pending', 72, 70, 'unproven', false, 'failed', 70],
  // A resolver that fails is no reason to give up.
  ['pending', 200, 190, 'silent', false, 'pending', 190],
  ['pending', 200, 190, 'worst', false, 'failed', 190],
  ['verified', 500, null, 'complete', false, 'verified', null],
  ['verified', 500, null, 'lacking', false, 'verified', 0],
  ['verified', 500, 71, 'lacking', false, 'verified', 71],
  ['verified', 500, 72, 'lacking', false, 'failed', 72],
  ['verified', 500, 71, 'complete', false, 'verified', null],
  ['verified', 500, 100, 'silent', false, 'verified', 100],
  ['verified', 500, null, 'silent', false, 'verified', null],
  ['failed', 500, 100, 'lacking', false, 'failed', 100],
  ['failed', 500, 100, 'complete', false, 'verified', null],
  ['failed', 500, 100, 'lacking', true, 'pending', 100],
  ['failed', 500, 100, 'complete', true, 'verified', null],
  ['failed', 500, 100, 'silent', false, 'failed', 100],
  ['failed', 500, 100, 'silent', true, 'pending', 100],
  // Who asks again and again does not keep a domain pending for ever: only one that failed begins anew.
  ['pending', 71, 70, 'lacking', true, 'pending', 70],
  ['pending', 72, 70, 'lacking', true, 'failed', 70],
  ['verified', 500, 71, 'lacking', true, 'verified', 71],
  ['verified', 500, 72, 'unproven', true, 'failed', 72],
] as const)(
  '%s for %p h, lacking for %p h, %s, asked %p: %s, lacking for %p h',
  (status, pendingHours, failingHours, look, isAsked, expected, failing) => {
    const before = domain({
      status,
      pendingSince: ago(pendingHours),
      failingSince: failingHours === null ? null : ago(failingHours),
    });
    const after = afterCheck(before, LOOKS[look], CLOCK, isAsked);
    expect(after.status).toBe(expected);
    expect(after.failingSince).toBe(failing === null ? null : ago(failing));
    // What failed is not looked at by itself; everything else is, later than now.
    expect(after.nextCheckAt === null).toBe(expected === 'failed');
    if (after.nextCheckAt !== null) expect(after.nextCheckAt).toBeGreaterThan(NOW);
    expect(after.pendingSince).toBe(status === 'failed' && isAsked ? NOW : before.pendingSince);
  },
);

test('a record that could not be asked keeps the state it was last seen in', () => {
  expect(afterCheck(domain({}), LOOKS.worst, CLOCK, false).recordStates).toEqual({
    DKIM: 'not_started',
    SPF: 'pending',
    DMARC: 'pending',
  });
  expect(afterCheck(domain({ recordStates: {} }), LOOKS.silent, CLOCK, false).recordStates).toEqual(
    {
      DKIM: 'not_started',
      SPF: 'verified',
      DMARC: 'not_started',
    },
  );
});

test('the first verification keeps its time, also once the domain has failed and while it is pending again', () => {
  const since = { verifiedAt: 5, failingSince: ago(72) };
  const failed = afterCheck(domain({ ...since, status: 'verified' }), LOOKS.lacking, CLOCK, false);
  expect([failed.status, failed.verifiedAt]).toEqual(['failed', 5]);
  const revived = afterCheck(domain({ ...since, status: 'failed' }), LOOKS.lacking, CLOCK, true);
  expect([revived.status, revived.verifiedAt]).toEqual(['pending', 5]);
  expect(afterCheck(domain({}), LOOKS.complete, CLOCK, false).verifiedAt).toBe(NOW);
  const again = domain({ status: 'verified', verifiedAt: 5 });
  expect(afterCheck(again, LOOKS.complete, CLOCK, false).verifiedAt).toBe(5);
});

test('what is stored of a check, whole, with the next one in whole milliseconds', () => {
  const clock = new TestClock(NOW);
  clock.jump(5_000);
  const before = domain({ pendingSince: NOW - 400_002, recordStates: {} });
  expect(afterCheck(before, LOOKS.lacking, clock, false)).toEqual({
    id: 'd',
    now: NOW + 5_000,
    status: 'pending',
    recordStates: { DKIM: 'verified', SPF: 'pending', DMARC: 'verified' },
    verifiedAt: null,
    nextCheckAt: NOW + 100_001,
    failingSince: NOW,
    pendingSince: NOW - 400_002,
    seen: {
      DKIM: { at: '', values: [], problem: null },
      SPF: { at: '', values: [], problem: 'not there' },
      DMARC: { at: '', values: [], problem: null },
    },
  });
  // A failed domain that is asked about begins to wait anew; one that nobody asked about is left alone.
  const failed = domain({ status: 'failed', pendingSince: ago(100), failingSince: ago(90) });
  expect(
    [true, false].map((isAsked) => {
      const { status, nextCheckAt, pendingSince, failingSince, verifiedAt } = afterCheck(
        failed,
        LOOKS.lacking,
        clock,
        isAsked,
      );
      return [status, nextCheckAt, pendingSince, failingSince, verifiedAt];
    }),
  ).toEqual([
    ['pending', NOW + 60_000, NOW, ago(90), null],
    ['failed', null, ago(100), ago(90), null],
  ]);
});
