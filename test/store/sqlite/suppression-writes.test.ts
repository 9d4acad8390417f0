/** Writes about suppressions, called alone: the row that each leaves, field by field, and where it stands in the list. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Suppression } from '../../../src/store/rows.ts';
import { newAccount, newSuppression } from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const account = newAccount('one');
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  writer.createAccount(account);
});
afterEach(() => writer.close());

const rows = (): unknown[] =>
  writer.mail
    .query(
      'SELECT seq, id, email, reason, source, note, created_at AS createdAt, removed_at AS removedAt FROM suppressions ORDER BY seq',
    )
    .all();

/** A row of Ann's, or of another. */
function row(id: string, change: Partial<Suppression>): Suppression {
  return newSuppression(account.id, 'ann@x.example', { id, ...change });
}

/** As it stands in the table. */
function stored(
  seq: number,
  { accountId: _account, ...rest }: Suppression,
  removedAt: number | null = null,
) {
  return { seq, ...rest, removedAt };
}

test('a stronger reason takes over id, reason, source and note, and leaves the position and the time', () => {
  const manual = row('a', { source: 'api', note: 'asked', createdAt: 1 });
  const other = row('b', { email: 'bob@x.example', createdAt: 2 });
  expect([manual, other].map((each) => writer.addSuppression(each))).toEqual([manual, other]);
  const bounce = row('c', { reason: 'hard_bounce', source: 'm1', note: '550 no', createdAt: 3 });
  const strengthened = { ...bounce, createdAt: 1 };
  expect(writer.addSuppression(bounce)).toEqual(strengthened);
  expect(rows()).toEqual([stored(1, strengthened), stored(2, other)]);
  // Nothing replaces it again: neither a weaker reason nor another strong one.
  for (const reason of ['manual', 'complaint', 'hard_bounce'] as const) {
    const late = row('d', { reason, source: 'm2', note: 'late', createdAt: 4 });
    expect(writer.addSuppression(late)).toEqual(strengthened);
  }
  expect(rows()).toEqual([stored(1, strengthened), stored(2, other)]);
});

test.each(['manual', 'hard_bounce'] as const)(
  'an address that was taken out as %s comes back at the head of the list, as a new row',
  (reason) => {
    const first = row('a', { reason, note: 'one', createdAt: 1 });
    const other = row('b', { email: 'bob@x.example', createdAt: 2 });
    for (const each of [first, other]) writer.addSuppression(each);
    expect(writer.removeSuppression(account.id, first.email, 5)).toBe(true);
    expect(rows()).toEqual([stored(1, first, 5), stored(2, other)]);
    // Removed is removed: the mark keeps its time.
    expect(writer.removeSuppression(account.id, first.email, 6)).toBe(false);
    expect(writer.removeSuppression('another', other.email, 6)).toBe(false);
    expect(rows()).toEqual([stored(1, first, 5), stored(2, other)]);
    const again = row('c', { reason, source: 's', createdAt: 7 });
    expect(writer.addSuppression(again)).toEqual(again);
    expect(rows()).toEqual([stored(2, other), stored(3, again)]);
  },
);

test('of many at once those count that are new, stronger, or back', () => {
  const email = 'gone@x.example';
  writer.addSuppression(row('a', {}));
  writer.addSuppression(row('b', { email }));
  writer.removeSuppression(account.id, email, 5);
  const step = [
    row('c', { email: 'new@x.example' }),
    row('d', {}),
    row('e', { reason: 'complaint' }),
    row('f', { reason: 'hard_bounce' }),
    row('g', { email }),
    row('h', { email: 'new@x.example' }),
  ];
  expect(writer.addSuppressionsStep(step)).toBe(3);
  expect(writer.column('SELECT id FROM suppressions ORDER BY seq')).toEqual(['e', 'c', 'g']);
  expect(writer.addSuppressionsStep([])).toBe(0);
});
