/** A retry goes on behind what it has looked at: however much waits for a destination, no step begins at its first again. */
import { expect, test } from 'bun:test';

import { batchOf, newAccount, newMessage, recipientOf } from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';

const NOW = 1_000;
const LATER = NOW + 1;

test('each step looks at the next recipients of the destination, whatever becomes of them', () => {
  const writer = writerAtHand();
  const account = newAccount('one');
  writer.createAccount(account);
  const ids: string[] = [];
  const waiting = (
    domain: string,
    dueAt: number | null,
    leaseUntil: number | null = null,
  ): void => {
    const message = newMessage(account.id, {}, [`x@${domain}`]);
    const recipient = recipientOf(message);
    Object.assign(recipient, { nextAttemptAt: dueAt });
    writer.accept(batchOf(account.id, message));
    writer.mail.run('UPDATE recipients SET lease_until = ? WHERE id = ?', [
      leaseUntil,
      recipient.id,
    ]);
    if (domain === 'b.example') ids.push(recipient.id);
  };
  // Due, in an attempt, ended, after an attempt; then two that wait, and one in the first moment that is not due.
  for (const [dueAt, lease] of [
    [NOW, null],
    [LATER, LATER],
    [null, null],
    [LATER, NOW],
    [LATER, null],
    [LATER + 9, null],
  ] as const) {
    waiting('a.example', LATER);
    waiting('b.example', dueAt, lease);
    waiting('c.example', LATER);
  }
  const dueAts = (): (number | null)[] =>
    writer.mail
      .query<{ at: number | null }, []>(
        "SELECT next_attempt_at AS at FROM recipients WHERE domain = 'b.example' ORDER BY id",
      )
      .all()
      .map(({ at }) => at);
  const step = (after: string): string | null =>
    writer.retryStep({ id: null, domain: 'b.example' }, NOW, after, 2);
  const [, second, , , fifth] = ids;
  expect(step('')).toBe(second ?? 'two');
  expect(dueAts()).toEqual([NOW, LATER, null, LATER, LATER, LATER + 9]);
  // What the step before has passed over is not looked at again.
  writer.mail.run('UPDATE recipients SET lease_until = NULL WHERE id = ?', [second ?? '']);
  expect(step(second ?? '')).toBe(fifth ?? 'five');
  expect(dueAts()).toEqual([NOW, LATER, null, NOW, NOW, LATER + 9]);
  expect(step(fifth ?? '')).toBeNull();
  expect(dueAts()).toEqual([NOW, LATER, null, NOW, NOW, NOW]);
  expect(step(ids.at(-1) ?? '')).toBeNull();
  // No other destination was tried.
  const others = writer.mail
    .query<{ at: number }, []>(
      "SELECT DISTINCT next_attempt_at AS at FROM recipients WHERE domain <> 'b.example'",
    )
    .all();
  expect(others).toEqual([{ at: LATER }]);
  writer.close();
});

test('of all destinations a step takes what is not due yet; one email or recipient is a single step', () => {
  const writer = writerAtHand();
  const account = newAccount('one');
  writer.createAccount(account);
  const messages = Array.from({ length: 3 }, (_, at) =>
    newMessage(account.id, {}, [`x@d${at}.example`]),
  );
  for (const message of messages) {
    recipientOf(message).nextAttemptAt = LATER;
    writer.accept(batchOf(account.id, message));
  }
  const [first] = messages;
  if (first === undefined) throw new Error('no message');
  const due = (): number =>
    writer.mail
      .query<{ count: number }, []>(
        `SELECT count(*) AS count FROM recipients WHERE next_attempt_at = ${NOW} AND updated_at = ${NOW}`,
      )
      .get()?.count ?? 0;
  expect(writer.retryStep({ id: first.message.id, domain: null }, NOW, '', 1)).toBeNull();
  expect(due()).toBe(1);
  const all = { id: null, domain: null };
  expect([writer.retryStep(all, NOW, '', 1), due()]).toEqual(['', 2]);
  expect([writer.retryStep(all, NOW, '', 1), due()]).toEqual(['', 3]);
  expect([writer.retryStep(all, NOW, '', 1), due()]).toEqual([null, 3]);
  writer.close();
});
