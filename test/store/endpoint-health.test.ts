/** Failures in a row, disabling and a clean start, by table. */
import { describe, expect, test } from 'bun:test';

import { changedEndpoint, healthAfter } from '../../src/store/endpoint-health.ts';
import type { EndpointHealth } from '../../src/store/endpoint-health.ts';
import type { Endpoint } from '../../src/store/rows.ts';
import type { EndpointChange } from '../../src/store/webhooks.ts';
import { newEndpoint } from './samples.ts';

describe('after an attempt', () => {
  const at = 7;
  const health = (
    status: EndpointHealth['status'],
    failureCount: number,
    lastFailureAt: number | null = null,
  ): EndpointHealth => ({ status, failureCount, lastFailureAt });
  const cases: [what: string, before: EndpointHealth, ok: boolean, after: EndpointHealth][] = [
    ['a first failure', health('active', 0), false, health('active', 1, at)],
    ['the last failure but one', health('active', 1, 3), false, health('active', 2, at)],
    ['the failure that disables', health('active', 2, 3), false, health('disabled', 3, at)],
    ['more failures than that', health('active', 9, 3), false, health('disabled', 10, at)],
    ['a failure while disabled', health('disabled', 0), false, health('disabled', 1, at)],
    ['a success after failures', health('active', 2, 3), true, health('active', 0, 3)],
    ['a success while disabled', health('disabled', 5, 3), true, health('disabled', 0, 3)],
  ];
  test.each(cases)('%s', (_what, before, ok, after) => {
    const copy = { ...before };
    expect(healthAfter(before, { ok, createdAt: at }, 3)).toEqual(after);
    expect(before).toEqual(copy);
  });

  test('a success after a success changes nothing', () => {
    const fine = health('active', 0, 3);
    expect(healthAfter(fine, { ok: true, createdAt: at }, 3)).toBe(fine);
  });
});

describe('a change by the account', () => {
  const failing = newEndpoint('a', { status: 'disabled', failureCount: 20, lastFailureAt: 3 });
  const cases: [
    what: string,
    from: Partial<Endpoint>,
    change: EndpointChange,
    to: Partial<Endpoint>,
  ][] = [
    ['enabled', failing, { status: 'active' }, { status: 'active', failureCount: 0 }],
    ['left disabled', failing, { url: 'https://x' }, { url: 'https://x' }],
    [
      'enabled already: failures in a row go on',
      { ...failing, status: 'active' },
      { status: 'active', events: ['email.sent'] },
      { status: 'active', events: ['email.sent'] },
    ],
    ['disabled', { ...failing, status: 'active' }, { status: 'disabled' }, {}],
  ];
  test.each(cases)('%s', (_what, from, change, to) => {
    expect(changedEndpoint({ ...failing, ...from }, change)).toEqual({ ...failing, ...to });
  });
});
