/** Counting what was there before a counter, a step at a time: which rows a step counts, where it goes on, when it ends. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import type { SuppressionReason } from '../../../src/base/status.ts';
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { OutcomeCounts } from '../../../src/store/sqlite/outcome-counts.ts';
import { OutcomeRecount } from '../../../src/store/sqlite/recounts.ts';
import { SuppressionWriter } from '../../../src/store/sqlite/write-suppressions.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newAttempt,
  newEvent,
  newMessage,
  newSuppression,
  recipientOf,
} from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const HOUR_MS = 3_600_000;
const [one, two] = [newAccount('one'), newAccount('two')];
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  for (const account of [one, two]) writer.createAccount(account);
});
afterEach(() => writer.close());

/** An id of this moment. */
const idAt = (ms: number, n = 0): string =>
  `${idBound(ms)}-7000-8000-${String(n).padStart(12, '0')}`;

const all = (sql: string): unknown[] => writer.mail.query(sql).all();
const marks = (): unknown[] => all('SELECT name, seq FROM recounts ORDER BY name');

/** A message of the account that suppressions may name. */
function sourceOf(accountId: string): string {
  const message = newMessage(accountId);
  writer.accept(batchOf(accountId, message));
  return message.message.id;
}

const harmRows = (): unknown[] =>
  all(
    'SELECT hour, account_id AS account, hard_bounces AS bounces, complaints FROM harm_hours ORDER BY hour, bounces',
  );

test('harm of one hour that one group brings is counted for each account apart', () => {
  const harm = new HarmCounts(writer.mail);
  const list = new SuppressionWriter(writer.mail, harm);
  const [mine, theirs] = [sourceOf(one.id), sourceOf(two.id)];
  const add = (
    accountId: string,
    source: string,
    reason: SuppressionReason,
    hour: number,
  ): void => {
    const email = `${String(writer.column('SELECT count(*) FROM suppressions')[0])}@x.example`;
    list.add(newSuppression(accountId, email, { source, reason, createdAt: hour * HOUR_MS + 1 }));
  };
  add(one.id, mine, 'hard_bounce', 7);
  add(two.id, theirs, 'complaint', 7);
  add(one.id, mine, 'hard_bounce', 7);
  add(one.id, mine, 'complaint', 7);
  add(one.id, mine, 'complaint', 8);
  add(one.id, theirs, 'complaint', 8);
  harm.keep();
  expect(harmRows()).toEqual([]);
  harm.flush();
  const counted = [
    { hour: 7, account: two.id, bounces: 0, complaints: 1 },
    { hour: 7, account: one.id, bounces: 2, complaints: 1 },
    { hour: 8, account: one.id, bounces: 0, complaints: 1 },
  ];
  expect(harmRows()).toEqual(counted);
  // What was undone with its item, or with its group, is not counted.
  add(one.id, mine, 'complaint', 8);
  harm.drop();
  add(one.id, mine, 'complaint', 8);
  harm.keep();
  harm.forget();
  harm.keep();
  harm.flush();
  expect(harmRows()).toEqual(counted);
});

test('older harm is counted from the newest row on, and no row from before the moment', () => {
  const harm = new HarmCounts(writer.mail);
  const list = new SuppressionWriter(writer.mail, harm);
  const source = sourceOf(one.id);
  writer.mail.run("INSERT INTO recounts VALUES ('harm', 9)");
  for (const [n, at] of [10, 20, 30, 40, 50].entries()) {
    const reason = n === 1 ? 'manual' : 'complaint';
    const row = { id: idAt(at), source, reason, createdAt: (n + 1) * HOUR_MS } as const;
    list.add(newSuppression(one.id, `${n}@x.example`, row));
  }
  const step = (oldest: number, limit: number): unknown => {
    const left = harm.step(oldest, limit);
    harm.keep();
    harm.flush();
    return [left, all('SELECT hour FROM harm_hours ORDER BY hour'), marks()];
  };
  const hours = (...numbers: number[]): unknown[] => numbers.map((hour) => ({ hour }));
  expect([harmRows(), marks()]).toEqual([[], [{ name: 'harm', seq: 9 }]]);
  expect(step(20, 2)).toEqual([4, hours(4, 5), [{ name: 'harm', seq: 4 }]]);
  // Before its row is reached a change is left to the step; after that it counts.
  const late = { source, reason: 'complaint', createdAt: 9 * HOUR_MS } as const;
  list.add(newSuppression(one.id, '1@x.example', { ...late, id: idAt(21) }));
  expect(step(20, 2)).toEqual([2, hours(2, 3, 4, 5), [{ name: 'harm', seq: 2 }]]);
  list.add(newSuppression(one.id, '7@x.example', { ...late, id: idAt(60) }));
  expect(step(20, 2)).toEqual([0, hours(2, 3, 4, 5, 9), []]);
  expect(step(0, 2)).toEqual([0, hours(2, 3, 4, 5, 9), []]);
});

test('a step that is undone with its item, or with its group, is taken again', () => {
  const harm = new HarmCounts(writer.mail);
  const source = sourceOf(one.id);
  writer.mail.run("INSERT INTO recounts VALUES ('harm', 9)");
  for (const n of [1, 2, 3]) {
    writer.addSuppression(
      newSuppression(one.id, `${n}@x.example`, { source, reason: 'complaint' }),
    );
  }
  for (const undo of ['drop', 'forget'] as const) {
    writer.mail.run('SAVEPOINT item');
    expect(harm.step(0, 1)).toBe(3);
    writer.mail.run('ROLLBACK TO item');
    harm[undo]();
  }
  expect(harm.step(0, 2)).toBe(2);
  harm.keep();
  harm.flush();
  expect(harmRows()).toMatchObject([{ bounces: 0, complaints: 2 }]);
});

/** What is counted: hour, kind of destination, provider, and whose sum. */
const outcomeRows = (): unknown[] =>
  all(
    'SELECT hour, destination, provider, account_id AS account, delivered, delayed, bounced FROM outcome_hours ORDER BY hour, account',
  );

test('older outcomes are counted from the newest message on, and none of a message from before the moment', () => {
  const counts = new OutcomeCounts(writer.mail);
  const recount = new OutcomeRecount(writer.mail, counts);
  writer.mail.run("INSERT INTO recounts VALUES ('outcomes', 9)");
  for (const [n, at] of [10, 20, 30, 40].entries()) {
    const message = newMessage(one.id, { id: idAt(at) }, ['a@gmail.com']);
    writer.accept(batchOf(one.id, message));
    const recipient = recipientOf(message);
    const occurredAt = (n + 1) * HOUR_MS;
    const event = { ...newEvent(message.message, recipient.id, 'email.delivered'), occurredAt };
    const attempt = newAttempt(recipient, {
      host: 'gmail-smtp-in.l.google.com',
      endedAt: occurredAt,
    });
    writer.finish(finishOf(message, recipient, { events: [event], attempt }));
  }
  const rowsOf = (hour: number): unknown[] =>
    ['', one.id].map((account) => ({
      hour,
      destination: 'gmail',
      provider: 'Gmail',
      account,
      delivered: 1,
      delayed: 0,
      bounced: 0,
    }));
  const step = (oldest: number, limit: number): unknown => {
    const left = recount.step(oldest, limit);
    counts.keep();
    counts.flush();
    return [left, outcomeRows(), marks()];
  };
  expect(outcomeRows()).toEqual([]);
  const third = [...rowsOf(3), ...rowsOf(4)];
  expect(step(20, 1)).toEqual([4, rowsOf(4), [{ name: 'outcomes', seq: 4 }]]);
  expect(step(20, 1)).toEqual([3, third, [{ name: 'outcomes', seq: 3 }]]);
  // The older of the two that it looks at is too old: that is the end, though there are as many as asked for.
  expect(step(20, 2)).toEqual([0, [...rowsOf(2), ...third], []]);
  expect(step(0, 2)).toEqual([0, [...rowsOf(2), ...third], []]);
});

test('an end without an attempt counts for the host of the last one, a new attempt for its own', () => {
  const counts = new OutcomeCounts(writer.mail);
  const recount = new OutcomeRecount(writer.mail, counts);
  const message = newMessage(one.id, {}, ['a@firm.example']);
  writer.accept(batchOf(one.id, message));
  const recipient = recipientOf(message);
  const of = { seq: 1, isSandbox: 0, domain: recipient.domain };
  const google = newAttempt(recipient, { host: 'aspmx.l.google.com' });
  const event = (
    type: 'email.delivery_delayed' | 'email.bounced' | 'email.sent',
    hour: number,
  ) => ({
    ...newEvent(message.message, recipient.id, type),
    occurredAt: hour * HOUR_MS,
  });
  const end = finishOf(message, recipient);
  recount.record({ ...end, attempt: null, events: [event('email.bounced', 1)] }, of);
  writer.finish({ ...end, attempt: google });
  recount.record({ ...end, attempt: null, events: [event('email.bounced', 2)] }, of);
  const outlook = newAttempt(recipient, { host: 'firm.mail.protection.outlook.com' });
  const both = [
    event('email.delivery_delayed', 3),
    event('email.bounced', 3),
    event('email.sent', 3),
  ];
  recount.record({ ...end, attempt: outlook, events: both }, of);
  // Nothing simulated counts.
  recount.record({ ...end, attempt: google, events: both }, { ...of, isSandbox: 1 });
  recount.record({ ...end, attempt: google, events: both }, { ...of, domain: 'sandbox.test' });
  counts.keep();
  counts.flush();
  const rows = all(
    "SELECT hour, provider, delivered, delayed, bounced FROM outcome_hours WHERE account_id <> '' ORDER BY hour",
  );
  const none = { delivered: 0, delayed: 0, bounced: 1 };
  expect(rows).toEqual([
    { hour: 1, provider: '', ...none },
    { hour: 2, provider: 'Gmail', ...none },
    { hour: 3, provider: 'Office 365', ...none, delayed: 1 },
  ]);
});
