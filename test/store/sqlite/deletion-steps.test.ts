/**
 * Each step of deleting an account, called alone with small limits: what it answers, where it says to go on, what it
 * leaves, and that nothing of another account changes.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { NewMessage } from '../../../src/store/journey.ts';
import type { CallAttempt } from '../../../src/store/rows.ts';
import { newId } from '../../rig/ids.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newDomain,
  newEndpoint,
  newLogRecord,
  newMessage,
  newSuppression,
  recipientOf,
} from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const [doomed, other] = [newAccount('doomed'), newAccount('other')];
const [ours, theirs] = [newEndpoint(doomed.id), newEndpoint(other.id)];
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  for (const account of [doomed, other]) writer.createAccount(account);
  for (const endpoint of [ours, theirs]) writer.createEndpoint(endpoint, 1);
});
afterEach(() => writer.close());

function accept(accountId: string, dueAt = 10): NewMessage {
  const message = newMessage(accountId);
  recipientOf(message).nextAttemptAt = dueAt;
  expect(writer.accept(batchOf(accountId, message)).kind).toBe('accepted');
  return message;
}

/** Delivered, with the call that its endpoint asks for. */
function delivered(accountId: string): string {
  const message = accept(accountId);
  const recipient = recipientOf(message);
  const [call] = writer.finish(finishOf(message, recipient)).calls;
  return call?.id ?? 'no call';
}

function attemptOf(endpointId: string): CallAttempt {
  return {
    id: newId(Date.now()),
    callId: newId(Date.now()),
    endpointId,
    eventType: 'email.delivered',
    messageId: newId(Date.now()),
    attempt: 1,
    statusCode: 200,
    ok: true,
    error: null,
    durationMs: 5,
    createdAt: 1,
  };
}

/** How many rows of each table are the account's. */
function rowsOf(accountId: string, tables: string): unknown[] {
  return tables
    .split(' ')
    .map(
      (table) =>
        writer.column('SELECT count(*) FROM ' + table + ' WHERE account_id = ?', accountId)[0],
    );
}

test('waiting ends in pages of due time and id, and the page that is not full is the last', () => {
  const sent = [
    accept(doomed.id, 10),
    accept(other.id, 10),
    accept(doomed.id, 10),
    accept(doomed.id, 20),
    accept(other.id, 30),
  ].map((message) => recipientOf(message).id);
  const waiting = () =>
    writer.column('SELECT id FROM recipients WHERE next_attempt_at IS NOT NULL ORDER BY id');
  const second = { dueAt: 10, id: sent[1] ?? '' };
  expect(writer.stopWaitingStep(doomed.id, { dueAt: 0, id: '' }, 2)).toEqual(second);
  expect(waiting()).toEqual(sent.slice(1));
  // The third has the due time of the cursor, and a later id.
  const fourth = { dueAt: 20, id: sent[3] ?? '' };
  expect(writer.stopWaitingStep(doomed.id, second, 2)).toEqual(fourth);
  expect(waiting()).toEqual([sent[1], sent[4]]);
  expect(writer.stopWaitingStep(doomed.id, fourth, 1)).toEqual({ dueAt: 30, id: sent[4] ?? '' });
  expect(writer.stopWaitingStep(doomed.id, { dueAt: 30, id: sent[4] ?? '' }, 1)).toBeNull();
  expect(writer.stopWaitingStep(doomed.id, { dueAt: 0, id: '' }, 3)).toBeNull();
  expect(waiting()).toEqual([sent[1], sent[4]]);
});

test('messages go whole, so many at once, with their calls and bytes, and their numbers are not used again', () => {
  delivered(other.id);
  for (let n = 0; n < 3; n += 1) delivered(doomed.id);
  const tables = 'messages recipients calls';
  const size = writer.stored.of(other.id);
  expect(writer.stored.of(doomed.id)).toBe(3 * size);
  expect(writer.dropAccountMessagesStep(doomed.id, 2)).toBe(2);
  expect(rowsOf(doomed.id, tables)).toEqual([1, 1, 1]);
  expect(writer.stored.of(doomed.id)).toBe(size);
  expect(writer.dropAccountMessagesStep(doomed.id, 2)).toBe(1);
  expect(writer.dropAccountMessagesStep(doomed.id, 2)).toBe(0);
  expect(rowsOf(doomed.id, tables)).toEqual([0, 0, 0]);
  expect(rowsOf(other.id, tables)).toEqual([1, 1, 1]);
  expect([writer.stored.of(doomed.id), writer.stored.of(other.id)]).toEqual([0, size]);
  for (const table of ['bodies', 'attachments', 'attempts']) {
    expect([table, ...writer.column('SELECT count(*) FROM ' + table)]).toEqual([table, 1]);
  }
  expect(writer.column('SELECT count(*) FROM events')).toEqual([2]);
  accept(other.id);
  accept(other.id);
  expect(writer.column('SELECT seq FROM messages ORDER BY seq')).toEqual([1, 5, 6]);
});

test('calls whose events have gone are removed with the lists, so many at once', () => {
  for (const { id } of [doomed, other, doomed, doomed]) delivered(id);
  writer.mail.run('DELETE FROM events');
  const left = () => [doomed, other].flatMap(({ id }) => rowsOf(id, 'calls'));
  const step = () => writer.dropAccountRowsStep(doomed.id, 2).left;
  expect([step(), ...left()]).toEqual([1, 1, 1]);
  expect([step(), ...left()]).toEqual([0, 0, 1]);
});

/** Three suppressions, two confirmed addresses, and one row of every other long table. */
function fill(accountId: string, endpointId: string): void {
  for (const name of ['a', 'b', 'c']) writer.addSuppression(newSuppression(accountId, `${name}@x`));
  for (const name of ['d', 'e']) writer.addConfirmedRecipient(accountId, `${name}@x`, 1);
  const record = { key: 'k', route: 'r', bodyHash: 'h', status: 200, response: '{}' };
  writer.accept({
    ...batchOf(accountId),
    usage: { count: 1, day: '2026-01-01', dailyLimit: null, monthlyLimit: null },
    idempotency: { ...record, createdAt: 1, expiresAt: 2 },
  });
  writer.recordTestCall(attemptOf(endpointId));
  writer.mail.run("INSERT INTO outcome_hours VALUES (?, 1, 'x.example', 'other', 1, 0, 0, 0, 0)", [
    accountId,
  ]);
}

const LISTS = 'suppressions confirmed_recipients idempotency outcome_hours usage_days';
const attempts = (endpointId: string) =>
  writer.column('SELECT count(*) FROM call_attempts WHERE endpoint_id = ?', endpointId);

test('a step of the long lists ends with the first that is not done, and counts what people ask about', () => {
  fill(doomed.id, ours.id);
  fill(other.id, theirs.id);
  const step = (limit: number) => writer.dropAccountRowsStep(doomed.id, limit);
  expect(step(2)).toEqual({ suppressions: 2, confirmed: 0, left: 1 });
  expect(rowsOf(doomed.id, LISTS)).toEqual([1, 2, 1, 1, 1]);
  expect(step(2)).toEqual({ suppressions: 1, confirmed: 2, left: 1 });
  expect(rowsOf(doomed.id, LISTS)).toEqual([0, 0, 1, 1, 1]);
  expect(step(2)).toEqual({ suppressions: 0, confirmed: 0, left: 0 });
  expect([...rowsOf(doomed.id, LISTS), ...attempts(ours.id)]).toEqual([0, 0, 0, 0, 1, 0]);
  expect([...rowsOf(other.id, LISTS), ...attempts(theirs.id)]).toEqual([3, 2, 1, 1, 1, 1]);
});

test('a step of the domains takes so many of the account with their keys, removed ones too', () => {
  for (const name of ['a', 'b', 'c', 'd']) {
    const domain = newDomain(doomed.id, `${name}.example`);
    writer.createDomain(domain, 9);
    writer.mail.run("INSERT INTO dkim_keys VALUES (?, 'previous', 's', 'p', NULL, 1)", [domain.id]);
    if (name === 'd') writer.deleteDomain(doomed.id, domain.id, 7);
  }
  writer.createDomain(newDomain(other.id, 'a.example'), 9);
  const left = () => [
    ...rowsOf(doomed.id, 'domains'),
    ...rowsOf(other.id, 'domains'),
    ...writer.column('SELECT count(*) FROM dkim_keys'),
  ];
  expect(writer.dropAccountDomainsStep(doomed.id, 2)).toBe(2);
  expect(left()).toEqual([2, 1, 2]);
  expect(writer.dropAccountDomainsStep(doomed.id, 2)).toBe(2);
  expect(left()).toEqual([0, 1, 0]);
  expect(writer.dropAccountDomainsStep(doomed.id, 2)).toBe(0);
  writer.createDomain(newDomain(doomed.id, 'late.example'), 9);
  expect(writer.dropAccountEnd(doomed.id, [])).toMatchObject({ isGone: true, domains: 1 });
  expect(left()).toEqual([0, 1, 0]);
});

test('the end waits while there is a message, then takes what is left and the named settings', () => {
  fill(doomed.id, ours.id);
  fill(other.id, theirs.id);
  for (const name of ['one', 'two', 'three']) {
    writer.mail.run("INSERT INTO settings (name, value) VALUES (?, 'v')", [name]);
  }
  // Now its endpoint is remembered.
  delivered(doomed.id);
  expect(writer.dropAccountEnd(doomed.id, ['one'])).toEqual({
    isGone: false,
    domains: 0,
    webhooks: 0,
  });
  expect(rowsOf(doomed.id, LISTS)).toEqual([3, 2, 1, 1, 1]);
  const settings = () =>
    writer.column("SELECT name FROM settings WHERE name IN ('one', 'two', 'three') ORDER BY name");
  expect(settings()).toEqual(['one', 'three', 'two']);
  // Its call has no event any more, and stays for the end.
  writer.mail.run('DELETE FROM events');
  writer.dropAccountMessagesStep(doomed.id, 1);
  expect(rowsOf(doomed.id, 'calls')).toEqual([1]);
  expect(writer.dropAccountEnd(doomed.id, ['one', 'two'])).toEqual({
    isGone: true,
    domains: 0,
    webhooks: 1,
  });
  expect(settings()).toEqual(['three']);
  expect([...rowsOf(doomed.id, LISTS), ...attempts(ours.id)]).toEqual([0, 0, 0, 0, 0, 0]);
  expect([...rowsOf(other.id, LISTS), ...attempts(theirs.id)]).toEqual([3, 2, 1, 1, 1, 1]);
  expect(writer.column('SELECT id FROM accounts')).toEqual([other.id]);
  expect(writer.column('SELECT id FROM endpoints')).toEqual([theirs.id]);
  writer.createAccount(doomed);
  expect(delivered(doomed.id)).toBe('no call');
});

test('closing an account counts its keys, and its endpoints are called no more at once', () => {
  delivered(doomed.id);
  for (const accountId of [doomed.id, doomed.id, other.id]) {
    const id = newId(Date.now());
    const key = { id, accountId, name: 'n', permission: 'full_access', isTest: false } as const;
    const rest = { prefix: 'p', last4: 'l', lastUsedAt: null, revokedAt: null, createdAt: 1 };
    writer.createKey({ ...key, ...rest }, Buffer.from(id), 9);
  }
  expect(writer.closeAccount(doomed.id, 'why')).toBe(2);
  expect(writer.closeAccount(doomed.id, 'again')).toBe(0);
  expect(rowsOf(other.id, 'api_keys')).toEqual([1]);
  const state = 'SELECT status || coalesce(status_reason, ?) FROM accounts ORDER BY name';
  expect(writer.column(state, '-')).toEqual(['pausedagain', 'active-']);
  const message = accept(doomed.id);
  expect(writer.finish(finishOf(message, recipientOf(message))).calls).toEqual([]);
  expect(delivered(other.id)).not.toBe('no call');
  const calls = 'SELECT status FROM calls WHERE account_id = ? ORDER BY status';
  expect(writer.column(calls, doomed.id)).toEqual(['failed', 'open']);
});

test('log rows go so many at once, and from the first step on none is written', () => {
  const rows = [doomed, doomed, other, doomed].map(({ id }) => newLogRecord(id));
  writer.appendLogs(rows);
  const left = () => writer.log.query<{ id: string }, []>('SELECT id FROM logs ORDER BY seq').all();
  expect(writer.dropAccountLogsStep(doomed.id, 2)).toBe(2);
  writer.appendLogs([newLogRecord(doomed.id)]);
  expect(left()).toEqual(rows.slice(2).map(({ id }) => ({ id })));
  expect(writer.dropAccountLogsStep(doomed.id, 2)).toBe(1);
  expect(writer.dropAccountLogsStep(doomed.id, 2)).toBe(0);
  expect(left()).toMatchObject([{ id: rows[2]?.id }]);
  const next = newLogRecord(other.id);
  // A repeated id is one row.
  writer.appendLogs([next, next]);
  expect(left()).toMatchObject([{ id: rows[2]?.id }, { id: next.id }]);
});
