/** Writes that take several things at once: each is done, also behind one that cannot be. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { NewMessage } from '../../../src/store/journey.ts';
import {
  batchOf,
  newAccount,
  newDomain,
  newEndpoint,
  newEvent,
  newLogRecord,
  newMessage,
  recipientOf,
} from '../samples.ts';
import { domainWrites } from '../../../src/store/sqlite/write-domains.ts';
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

/** A message whose acceptance says at once that it is sent. */
function sentAtOnce(): NewMessage {
  const message = newMessage(account.id);
  message.events.push(newEvent(message.message, null, 'email.sent'));
  return message;
}

test('a batch gives the calls of all its messages, due by the steady time and made at the time of day', () => {
  const batch = { ...batchOf(account.id, sentAtOnce(), sentAtOnce(), sentAtOnce()), now: 1_000 };
  const accepted = writer.accept({ ...batch, steadyNow: 25 });
  const call = { id: expect.any(String), endpointId: endpoint.id, dueAt: 25 };
  expect(accepted).toEqual({ kind: 'accepted', calls: [call, call, call] });
  const rows = writer.mail.query(
    'SELECT message_id AS message, created_at AS createdAt, next_attempt_at AS dueAt FROM calls ORDER BY message_id',
  );
  expect(rows.all()).toEqual(
    batch.messages.map(({ message }) => ({ message: message.id, createdAt: 1_000, dueAt: 25 })),
  );
});

test('calls are due at the time of day where no steady time is told', () => {
  const accepted = writer.accept({ ...batchOf(account.id, sentAtOnce()), now: 1_000 });
  const call = { id: expect.any(String), endpointId: endpoint.id, dueAt: 1_000 };
  expect(accepted).toEqual({ kind: 'accepted', calls: [call] });
  expect(writer.column('SELECT next_attempt_at FROM calls')).toEqual([1_000]);
});

test('an attempt that may not begin keeps none behind it from beginning', () => {
  const messages = [newMessage(account.id), newMessage(account.id), newMessage(account.id)];
  writer.accept(batchOf(account.id, ...messages));
  const [first, second, third] = messages.map((message) => recipientOf(message));
  const begin = (ids: (string | undefined)[]): string[] =>
    writer
      .begin(
        ids.map((id) => ({
          recipientId: id ?? '',
          owner: 'me',
          leaseUntil: Date.now() + 9_000,
          nextAttemptAt: Date.now() + 9_000,
        })),
        Date.now(),
      )
      .map(({ id }) => id);
  expect(begin([second?.id])).toEqual([second?.id ?? '']);
  expect(begin(['nobody', first?.id, second?.id, third?.id])).toEqual([
    first?.id ?? '',
    third?.id ?? '',
  ]);
});

test('of a domain that is there already it is said, also where no more may be added', () => {
  const { createDomain, deleteDomain } = domainWrites(writer.mail);
  const [one, two] = [newDomain(account.id, 'a.example'), newDomain(account.id, 'b.example')];
  expect([createDomain(one, 1), createDomain(two, 1)]).toEqual(['created', 'too_many']);
  const again = newDomain(account.id, 'a.example');
  expect([createDomain(again, 1), createDomain(again, 9)]).toEqual(['exists', 'exists']);
  // A removed one counts for neither.
  expect(deleteDomain(account.id, one.id, 5)).toBe(true);
  expect([createDomain(again, 1), createDomain(two, 1)]).toEqual(['created', 'too_many']);
});

test('a log row of an account that is being deleted keeps none behind it from being written', () => {
  const kept = [newLogRecord('kept'), newLogRecord('kept')];
  writer.dropAccountLogsStep('gone', 9);
  writer.appendLogs([newLogRecord('gone'), ...kept.slice(0, 1), newLogRecord('gone')]);
  writer.appendLogs([newLogRecord('gone'), ...kept.slice(1)]);
  expect(writer.log.query('SELECT id FROM logs ORDER BY seq').all()).toEqual(
    kept.map(({ id }) => ({ id })),
  );
});
