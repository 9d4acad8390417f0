/** Attempts by table: who may begin one, what its end changes, what the message shows then, and why. */
import { describe, expect, test } from 'bun:test';

import { MESSAGE_STATUSES } from '../../src/base/status.ts';
import type { MessageStatus } from '../../src/base/status.ts';
import {
  begunOf,
  chooseEnd,
  maySaySent,
  ownerAtAccept,
  shownReason,
  showsReason,
} from '../../src/store/attempt-choice.ts';
import type { EndChoice, OwnedRecipient, RecipientState } from '../../src/store/attempt-choice.ts';
import type { FinishAttempt } from '../../src/store/journey.ts';
import { finishOf, newEvent, newMessage, recipientOf } from './samples.ts';

const NOW = 1_000;
const sample = newMessage('a');
const waiting = recipientOf(sample);

describe('begin', () => {
  const cases: [what: string, row: Partial<OwnedRecipient>, may: boolean][] = [
    ['free and due', {}, true],
    ['free and due later', { nextAttemptAt: NOW + 1 }, false],
    ['ended', { nextAttemptAt: null }, false],
    ['ended, and its own', { nextAttemptAt: null, owner: 'me' }, false],
    ['its own', { owner: 'me' }, true],
    ['its own, due later: acceptance marks so', { owner: 'me', nextAttemptAt: NOW + 1 }, true],
    ['its own, in an attempt', { owner: 'me', leaseUntil: NOW + 1 }, false],
    ['its own, its lease over now', { owner: 'me', leaseUntil: NOW }, true],
    ["another's, taken", { owner: 'other' }, false],
    ["another's, in an attempt", { owner: 'other', leaseUntil: NOW + 1 }, false],
    ["another's, its lease over", { owner: 'other', leaseUntil: NOW }, true],
    [
      "another's, its lease over, due later",
      { owner: 'other', leaseUntil: NOW, nextAttemptAt: NOW + 1 },
      false,
    ],
    ["nobody's under a lease", { leaseUntil: NOW + 1 }, false],
  ];
  test.each(cases)('%s', (_what, change, may) => {
    const row = { ...waiting, nextAttemptAt: NOW, attempts: 2, owner: null, leaseUntil: null };
    const attempt = { recipientId: row.id, owner: 'me', leaseUntil: 5_000, nextAttemptAt: 6_000 };
    const given = { ...row, ...change };
    const copy = { ...given };
    const begun = { ...waiting, attempts: 3, nextAttemptAt: 6_000, updatedAt: NOW };
    expect(begunOf(given, attempt, NOW)).toEqual(may ? begun : null);
    expect(given).toEqual(copy);
  });

  test('an accepted recipient is of who has begun it; one that will not be tried is nobody’s', () => {
    expect(ownerAtAccept(waiting, 'me')).toBe('me');
    expect(ownerAtAccept(waiting, undefined)).toBeNull();
    expect(ownerAtAccept({ ...waiting, nextAttemptAt: null }, 'me')).toBeNull();
  });
});

/** A state of the recipient `id`, open while it has not ended. */
function state(
  id: string,
  status: MessageStatus,
  change: Partial<RecipientState> = {},
): RecipientState {
  const isOpen = status === 'queued' || status === 'delivery_delayed';
  const nextAttemptAt = isOpen ? NOW : null;
  const whose = { owner: null, leaseUntil: null };
  return { id, status, nextAttemptAt, ...whose, messageStatus: 'queued', ...change };
}

describe('sent', () => {
  const of = (states: RecipientState[]): boolean =>
    maySaySent(
      {
        recipientId: 'r',
        messageId: 'm',
        accountId: 'a',
        now: NOW,
        event: newEvent(sample.message, 'r', 'email.sent'),
      },
      states,
    );
  const open: MessageStatus[] = ['queued', 'delivery_delayed'];
  test.each(MESSAGE_STATUSES.map((status) => [status, open.includes(status)] as const))(
    '%s',
    (status, may) => {
      expect(of([state('x', 'delivered'), state('r', status, { nextAttemptAt: NOW })])).toBe(may);
      expect(of([state('x', 'queued'), state('r', status, { nextAttemptAt: null })])).toBe(false);
    },
  );

  test('a recipient that is gone', () => {
    expect(of([state('x', 'queued')])).toBe(false);
    expect(of([])).toBe(false);
  });
});

function endOf(
  states: RecipientState[],
  status: MessageStatus,
  change: Partial<Pick<FinishAttempt, 'owner' | 'nextAttemptAt' | 'spares'>> = {},
): EndChoice {
  return chooseEnd(finishOf(sample, waiting, { recipientId: 'r', status, ...change }), states);
}

describe('end', () => {
  const cases: [
    what: string,
    before: Partial<RecipientState>,
    owner: string | null,
    kind: EndChoice['kind'],
  ][] = [
    ['its own', { owner: 'me' }, 'me', 'changed'],
    ['freed, taken by nobody since', { owner: null }, 'me', 'changed'],
    ["another's by now", { owner: 'other' }, 'me', 'overtaken'],
    ['by another hand', { owner: 'other' }, null, 'changed'],
    ['ended by another hand', { status: 'failed', nextAttemptAt: null }, 'me', 'recorded'],
    ['freed and ended', { status: 'delivered', nextAttemptAt: null }, 'me', 'recorded'],
  ];
  test.each(cases)('%s', (_what, before, owner, kind) => {
    const states = [state('r', 'queued', { messageStatus: 'delivery_delayed', ...before })];
    const messageStatus = kind === 'changed' ? 'delivered' : 'delivery_delayed';
    expect(endOf(states, 'delivered', { owner })).toEqual({ kind, messageStatus });
  });

  const begun: [what: string, before: Partial<RecipientState>, kind: EndChoice['kind']][] = [
    ['under a lease', { leaseUntil: NOW + 1, nextAttemptAt: NOW - 1 }, 'overtaken'],
    ['under one that is over', { leaseUntil: NOW, nextAttemptAt: NOW + 1 }, 'changed'],
    ['begun with its acceptance', { nextAttemptAt: NOW + 1 }, 'overtaken'],
    ['taken, and not begun', { nextAttemptAt: NOW }, 'changed'],
    ['of its own', { owner: 'me', leaseUntil: NOW + 1 }, 'changed'],
    ["nobody's, and put off", { owner: null, nextAttemptAt: NOW + 1 }, 'changed'],
    ['ended', { owner: null, status: 'delivered', nextAttemptAt: null }, 'recorded'],
  ];
  test.each(begun)('that leaves attempts to others: %s', (_what, before, kind) => {
    const states = [state('r', 'queued', { owner: 'other', ...before })];
    const spares = { owner: 'me', now: NOW };
    expect(endOf(states, 'failed', { owner: null, spares }).kind).toBe(kind);
    const isOurs = before.owner === 'me';
    const byNobody = { owner: null, spares: { owner: null, now: NOW } };
    expect(endOf(states, 'failed', byNobody).kind).toBe(isOurs ? 'overtaken' : kind);
  });

  test('a recipient that is gone changes nothing', () => {
    expect(endOf([], 'bounced')).toEqual({ kind: 'gone', messageStatus: 'bounced' });
    expect(endOf([state('x', 'queued')], 'bounced').kind).toBe('gone');
  });

  test('a later report may say worse, and nothing else changes what has ended', () => {
    const worse: Partial<Record<MessageStatus, MessageStatus[]>> = {
      delivered: ['bounced', 'complained'],
      bounced: ['complained'],
      failed: ['complained'],
    };
    const open: MessageStatus[] = ['queued', 'sent', 'delivery_delayed'];
    for (const before of MESSAGE_STATUSES) {
      for (const after of MESSAGE_STATUSES) {
        const may = open.includes(before) || worse[before]?.includes(after) === true;
        const { kind } = endOf([state('r', before)], after);
        expect([before, after, kind]).toEqual([before, after, may ? 'changed' : 'recorded']);
      }
    }
  });
});

describe('what the message shows', () => {
  const cases: [
    what: string,
    others: RecipientState[],
    status: MessageStatus,
    nextAttemptAt: number | null,
    shown: MessageStatus,
  ][] = [
    ['one recipient', [], 'delivered', null, 'delivered'],
    ['one that waits again', [], 'delivery_delayed', 5, 'delivery_delayed'],
    [
      'another still waits: the newest',
      [state('x', 'queued'), state('y', 'bounced')],
      'delivered',
      null,
      'delivered',
    ],
    ['another has bounced: the worst', [state('x', 'bounced')], 'delivered', null, 'bounced'],
    ['this one waits again: the newest', [state('x', 'bounced')], 'sent', 5, 'sent'],
    ['others are suppressed', [state('x', 'suppressed')], 'delivered', null, 'delivered'],
    [
      'two others',
      [state('x', 'delivered'), state('y', 'complained')],
      'failed',
      null,
      'complained',
    ],
  ];
  test.each(cases)('%s', (_what, others, status, nextAttemptAt, shown) => {
    const states = [state('r', 'queued'), ...others];
    for (const order of [states, states.toReversed()]) {
      expect(endOf(order, status, { nextAttemptAt })).toEqual({
        kind: 'changed',
        messageStatus: shown,
      });
    }
  });

  test('what the recipient was until now does not count', () => {
    expect(endOf([state('r', 'delivered'), state('x', 'delivered')], 'bounced').messageStatus).toBe(
      'bounced',
    );
  });

  test('three failures show a reason: of the recipient changed last', () => {
    expect(MESSAGE_STATUSES.filter(showsReason)).toEqual(['bounced', 'failed', 'suppressed']);
    const of = (lastReason: string | null, updatedAt: number) => ({ lastReason, updatedAt });
    expect(shownReason([of('a', 1), of('b', 3), of('c', 2)])).toBe('b');
    expect(shownReason([of('a', 3), of('b', 3)])).toBe('a');
    expect(shownReason([of('a', 1), of(null, 2)])).toBeNull();
    expect(shownReason([])).toBeNull();
  });
});
