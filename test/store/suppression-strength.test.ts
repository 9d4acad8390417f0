/** What a suppression does to the row of its address: every reason against every other, live and removed. */
import { expect, test } from 'bun:test';

import { effectOf } from '../../src/store/suppression-strength.ts';

const REASONS = ['manual', 'hard_bounce', 'complaint', 'unsubscribe'] as const;

test('only manual gives way, and only to what is not manual', () => {
  for (const before of REASONS) {
    for (const reason of REASONS) {
      const isStronger = before === 'manual' && reason !== 'manual';
      const effect = effectOf({ reason }, { reason: before, removedAt: null });
      expect([before, reason, effect]).toEqual([
        before,
        reason,
        isStronger ? 'strengthened' : 'kept',
      ]);
    }
  }
});

test('an address without a row, or with a removed one, is new', () => {
  for (const reason of REASONS) {
    expect(effectOf({ reason }, null)).toBe('added');
    for (const before of REASONS) {
      expect(effectOf({ reason }, { reason: before, removedAt: 0 })).toBe('added');
    }
  }
});
