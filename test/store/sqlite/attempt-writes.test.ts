/** Writes about attempts, called alone: the rows of recipient, message and counter that each leaves, field by field. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { FinishAttempt, NewMessage } from '../../../src/store/journey.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newMessage,
  recipientOf,
} from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const account = newAccount('one');
const endpoint = newEndpoint(account.id);
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  writer.createAccount(account);
  writer.createEndpoint(endpoint, 1);
});
afterEach(() => writer.close());

/** Made at 5, due at 10; the message and its recipients. */
function accept(to = ['ann@example.org']): NewMessage {
  const message = newMessage(account.id, { createdAt: 5, updatedAt: 5 }, to);
  for (const recipient of message.recipients) {
    Object.assign(recipient, { nextAttemptAt: 10, expiresAt: 900, updatedAt: 5 });
  }
  expect(writer.accept(batchOf(account.id, message)).kind).toBe('accepted');
  return message;
}

const recipientRow = ({ id }: Recipient): unknown =>
  writer.mail
    .query(
      'SELECT status, attempts, next_attempt_at AS due, last_reason AS reason, delayed_at AS delayedAt,' +
        ' updated_at AS updatedAt, owner, lease_until AS lease FROM recipients WHERE id = ?',
    )
    .get(id);
const messageRow = ({ message }: NewMessage): unknown =>
  writer.mail
    .query(
      'SELECT status, updated_at AS updatedAt, failure_reason AS reason FROM messages WHERE id = ?',
    )
    .get(message.id);

test('a recipient that is begun, said to be sent, put off and delivered has each time the row of that moment', () => {
  const message = accept();
  const recipient = recipientOf(message);
  const attempt = { recipientId: recipient.id, owner: 'me', leaseUntil: 80, nextAttemptAt: 90 };
  const fresh = {
    status: 'queued',
    attempts: 0,
    due: 10,
    reason: null,
    delayedAt: null,
    updatedAt: 5,
    owner: null,
    lease: null,
  };
  expect(recipientRow(recipient)).toEqual(fresh);
  expect(writer.begin([attempt], 20)).toMatchObject([
    { id: recipient.id, attempts: 1, nextAttemptAt: 90, updatedAt: 20 },
  ]);
  const begun = { ...fresh, attempts: 1, due: 90, updatedAt: 20, owner: 'me', lease: 80 };
  expect(recipientRow(recipient)).toEqual(begun);
  expect(messageRow(message)).toEqual({ status: 'queued', updatedAt: 5, reason: null });

  const { id: messageId } = message.message;
  const sent = { recipientId: recipient.id, messageId, accountId: account.id, now: 30 };
  const event = newEvent(message.message, recipient.id, 'email.sent');
  // Its calls are due by the steady time.
  expect(writer.noteSent([{ ...sent, dueAt: 35, event }])).toEqual([
    { id: expect.any(String), endpointId: endpoint.id, dueAt: 35 },
  ]);
  expect(recipientRow(recipient)).toEqual({ ...begun, status: 'sent', updatedAt: 30 });
  expect(messageRow(message)).toEqual({ status: 'sent', updatedAt: 30, reason: null });

  const finish = (change: Partial<FinishAttempt>) =>
    writer.finish(finishOf(message, recipient, { owner: 'me', events: [], ...change }));
  const delayed = { status: 'delivery_delayed', nextAttemptAt: 200, delayedAt: 41 } as const;
  finish({ ...delayed, now: 40, lastReason: '450 later' });
  const waiting = {
    status: 'delivery_delayed',
    attempts: 1,
    due: 200,
    reason: '450 later',
    delayedAt: 41,
    updatedAt: 40,
    owner: null,
    lease: null,
  };
  expect(recipientRow(recipient)).toEqual(waiting);
  expect(messageRow(message)).toEqual({ status: 'delivery_delayed', updatedAt: 40, reason: null });
  // One that did not happen gives its number back; what is not said again stays the last word.
  writer.begin([{ ...attempt, leaseUntil: 280, nextAttemptAt: 290 }], 210);
  expect(recipientRow(recipient)).toMatchObject({ attempts: 2, owner: 'me', lease: 280 });
  finish({ ...delayed, now: 220, lastReason: null, attempt: null, isUnbegun: true });
  expect(recipientRow(recipient)).toEqual({ ...waiting, updatedAt: 220 });
  expect(writer.column('SELECT count(*) FROM attempts')).toEqual([1]);

  finish({ now: 300, lastReason: '250 ok', delayedAt: 41 });
  const delivered = {
    ...waiting,
    status: 'delivered',
    due: null,
    reason: '250 ok',
    updatedAt: 300,
  };
  expect(recipientRow(recipient)).toEqual(delivered);
  expect(messageRow(message)).toEqual({ status: 'delivered', updatedAt: 300, reason: null });
  // A second end is only noted.
  finish({ now: 400, status: 'failed', lastReason: '550 no' });
  expect(recipientRow(recipient)).toEqual(delivered);
  expect(messageRow(message)).toEqual({ status: 'delivered', updatedAt: 300, reason: null });
  expect(writer.column('SELECT count(*) FROM attempts')).toEqual([3]);
  expect(writer.begin([attempt, { ...attempt, recipientId: 'nobody' }], 500)).toEqual([]);
});

test('a message that fails shows the newest reason of those recipients that failed', () => {
  const message = accept(['a@x.example', 'b@x.example', 'c@x.example']);
  const end = (
    at: number,
    now: number,
    status: 'failed' | 'delivered',
    lastReason: string,
  ): void => {
    const recipient = recipientOf(message, at);
    writer.finish(finishOf(message, recipient, { now, status, lastReason, events: [] }));
  };
  end(1, 30, 'failed', '550 newest');
  end(0, 20, 'failed', '550 older');
  end(2, 40, 'delivered', '250 ok');
  expect(messageRow(message)).toEqual({ status: 'failed', updatedAt: 40, reason: '550 newest' });
});

test('an accepted recipient is of the owner that has begun its attempt, where one is to come', () => {
  const message = newMessage(account.id, {}, ['a@x.example', 'b@x.example']);
  recipientOf(message, 1).nextAttemptAt = null;
  writer.accept(batchOf(account.id, { ...message, owner: 'me' }, newMessage(account.id)));
  const rows = writer.column('SELECT owner FROM recipients ORDER BY address');
  // The second is of a message without an owner, and the third waits for nobody.
  expect(rows).toEqual(['me', null, null]);
});

test('what a webhook would be sent is kept with an event where the account has an endpoint, and nowhere else', () => {
  const other = newAccount('two');
  writer.createAccount(other);
  const bodies: unknown[] = [];
  for (const { id } of [account, other]) {
    const message = newMessage(id);
    const event = newEvent(message.message, null, 'email.sent');
    message.events.push(event);
    writer.accept(batchOf(id, message));
    bodies.push(event.webhookBody);
  }
  const kept = writer.mail.query(
    'SELECT m.account_id AS account, e.type, e.webhook_body AS body FROM events AS e JOIN messages AS m ON m.id = e.message_id' +
      ' ORDER BY m.seq, e.type',
  );
  expect(kept.all()).toEqual([
    { account: account.id, type: 'email.queued', body: null },
    { account: account.id, type: 'email.sent', body: bodies[0] },
    { account: other.id, type: 'email.queued', body: null },
    { account: other.id, type: 'email.sent', body: null },
  ]);
});
