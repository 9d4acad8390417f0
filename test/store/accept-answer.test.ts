/** What an acceptance is answered in place of being written, by table: repetition, conflict, one limit after the other. */
import { describe, expect, test } from 'bun:test';

import {
  contentBytes,
  refusalOf,
  repetitionOf,
  storageLimit,
} from '../../src/store/accept-answer.ts';
import type { EarlierRequest, Used } from '../../src/store/accept-answer.ts';
import type { AcceptBatch, AcceptResult, UsageClaim } from '../../src/store/journey.ts';
import { batchOf, newMessage } from './samples.ts';

const NOTHING: Used = { bytes: 0, onDay: 0, inMonth: 0 };

function batch(change: Partial<AcceptBatch> = {}): AcceptBatch {
  return { ...batchOf('a', newMessage('a')), now: 1_000, ...change };
}

function claim(
  count: number,
  dailyLimit: number | null,
  monthlyLimit: number | null = null,
): UsageClaim {
  return { count, day: '2026-01-15', dailyLimit, monthlyLimit };
}

describe('repetition', () => {
  const request = { route: 'POST /emails', bodyHash: 'h', status: 200, response: 'first' };
  const idempotency = { ...request, key: 'k', response: 'second', createdAt: 0, expiresAt: 9_999 };
  const replay = { kind: 'replay', status: 200, response: 'first' } as const;
  const conflict = { kind: 'idempotency_conflict' } as const;
  const cases: [
    what: string,
    earlier: Partial<EarlierRequest> | null,
    answer: AcceptResult | null,
  ][] = [
    ['no record', null, null],
    ['the same request', {}, replay],
    ['another body', { bodyHash: 'other' }, conflict],
    ['another route', { route: 'POST /emails/batch' }, conflict],
    ['a record that ends in a millisecond', { expiresAt: 1_001 }, replay],
    ['a record that ends now', { expiresAt: 1_000 }, null],
    ['an old record of another body', { expiresAt: 1_000, bodyHash: 'other' }, null],
  ];
  test.each(cases)('%s', (_what, earlier, answer) => {
    const stored = earlier === null ? null : { ...request, expiresAt: 2_000, ...earlier };
    expect(repetitionOf(batch({ idempotency }), stored)).toEqual(answer);
    // Without a key nothing is a repetition.
    expect(repetitionOf(batch(), stored)).toBeNull();
  });

  test('a record expires by steady time, where that is given', () => {
    const stored = { ...request, expiresAt: 500 };
    expect(repetitionOf(batch({ idempotency, steadyNow: 499 }), stored)).toEqual(replay);
    expect(repetitionOf(batch({ idempotency, steadyNow: 500 }), stored)).toBeNull();
  });
});

describe('quota', () => {
  const over = (which: 'daily' | 'monthly', limit: number, used: number): AcceptResult => ({
    kind: 'over_quota',
    which,
    limit,
    used,
  });
  const cases: [
    what: string,
    usage: UsageClaim | null,
    used: Partial<Used>,
    refusal: AcceptResult | null,
  ][] = [
    ['no claim', null, { onDay: 99, inMonth: 99 }, null],
    ['no limits', claim(5, null), { onDay: 99, inMonth: 99 }, null],
    ['a day that becomes exactly full', claim(2, 7), { onDay: 5 }, null],
    ['one more than the day', claim(3, 7), { onDay: 5 }, over('daily', 7, 5)],
    ['a first batch beyond the day', claim(8, 7), {}, over('daily', 7, 0)],
    ['a month that becomes exactly full', claim(2, null, 7), { inMonth: 5 }, null],
    ['one more than the month', claim(3, null, 7), { inMonth: 5 }, over('monthly', 7, 5)],
    ['both: the day is named', claim(3, 7, 7), { onDay: 5, inMonth: 6 }, over('daily', 7, 5)],
    [
      'the day fits, the month does not',
      claim(1, 7, 7),
      { onDay: 5, inMonth: 7 },
      over('monthly', 7, 7),
    ],
    ['a plan made smaller than what is used', claim(1, 3), { onDay: 5 }, over('daily', 3, 5)],
    ['a claim of nothing, with all used', claim(0, 3, 3), { onDay: 5, inMonth: 5 }, null],
    ['a limit of nothing', claim(1, 0), {}, over('daily', 0, 0)],
  ];
  test.each(cases)('%s', (_what, usage, used, refusal) => {
    expect(refusalOf(batch({ usage }), { ...NOTHING, ...used })).toEqual(refusal);
  });
});

describe('storage', () => {
  const bytes = contentBytes(newMessage('a').body, '[["X-Order","1"]]');

  test('content counts as it is stored: text, headers, attachments, the whole message', () => {
    const none = { html: null, text: null, headers: [], attachments: [], raw: null };
    const file = { filename: 'f', contentType: 't', contentId: null, content: Buffer.from('abcd') };
    expect(contentBytes(none, null)).toBe(0);
    expect(contentBytes({ ...none, html: 'é' }, null)).toBe(2);
    expect(contentBytes({ ...none, text: 'abc' }, '[1]')).toBe(6);
    expect(contentBytes({ ...none, attachments: [file, file] }, null)).toBe(8);
    expect(contentBytes({ ...none, raw: Buffer.from('abc') }, null)).toBe(3);
  });

  test('content may fill the limit and not pass it, all messages of the batch together', () => {
    const two = [newMessage('a'), newMessage('a')];
    const of = (storageBytes: number | null | undefined, messages = two) =>
      batch({ ...(storageBytes === undefined ? {} : { storageBytes }), messages });
    const used = { ...NOTHING, bytes: 10 };
    const over = { kind: 'over_quota', which: 'storage', limit: 2 * bytes + 9, used: 10 } as const;
    expect(refusalOf(of(2 * bytes + 10), used)).toBeNull();
    expect(refusalOf(of(2 * bytes + 9), used)).toEqual(over);
    expect(refusalOf(of(null), used)).toBeNull();
    expect(refusalOf(of(undefined), used)).toBeNull();
    // Nothing is added: what is kept already is no reason to refuse.
    expect(refusalOf(of(1, []), used)).toBeNull();
  });

  test('whoever has no limit, or adds nothing, need not be measured', () => {
    expect(storageLimit(batch())).toBeNull();
    expect(storageLimit(batch({ storageBytes: null }))).toBeNull();
    expect(storageLimit(batch({ storageBytes: 5, messages: [] }))).toBeNull();
    expect(storageLimit(batch({ storageBytes: 0 }))).toBe(0);
  });

  test('storage is named before quota', () => {
    const full = batch({ storageBytes: 1, usage: claim(1, 0) });
    expect(refusalOf(full, NOTHING)).toMatchObject({ which: 'storage' });
  });
});
