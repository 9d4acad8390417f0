/** What the store writes at a recipient's end: what is not named stays, and nothing more is tried by itself. */
import { expect, test } from 'bun:test';

import { endOf } from '../../src/flow/recipient-end.ts';
import type { Recipient } from '../../src/store/rows.ts';

const RECIPIENT: Recipient = {
  id: 'r',
  messageId: 'm',
  accountId: 'a',
  address: 'ann@example.com',
  domain: 'example.com',
  kind: 'to',
  status: 'delivery_delayed',
  attempts: 3,
  nextAttemptAt: 9_000,
  expiresAt: 99_000,
  lastReason: 'busy',
  delayedAt: 4_000,
  updatedAt: 5_000,
};

test('what is not named stays, and there is no further attempt', () => {
  expect(endOf(RECIPIENT, 7_000, {})).toEqual({
    recipientId: 'r',
    messageId: 'm',
    accountId: 'a',
    now: 7_000,
    status: 'delivery_delayed',
    nextAttemptAt: null,
    lastReason: 'busy',
    delayedAt: 4_000,
    owner: null,
    attempt: null,
    events: [],
    suppress: null,
  });
});

test('what is named changes', () => {
  const change = { status: 'failed', lastReason: 'given up', nextAttemptAt: 8_000 } as const;
  expect(endOf(RECIPIENT, 7_000, change)).toMatchObject(change);
});
