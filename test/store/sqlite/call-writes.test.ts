/** Writes about calls and leases, called alone: every answer with the row that each leaves, and what changes nothing. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Call } from '../../../src/store/rows.ts';
import { finished } from '../call-steps.ts';
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

/** Delivers an email; the id of the call that follows. */
function happen(now = 10, endpoints = 1): { id: string; eventId: string } {
  const message = newMessage(account.id);
  writer.accept(batchOf(account.id, message));
  const end = finishOf(message, recipientOf(message), { now, dueAt: now + 5 });
  const { calls } = writer.finish(end);
  if (calls.length > 0) expect(calls).toHaveLength(endpoints);
  const [call] = calls;
  const id = call?.id ?? 'no call';
  if (call !== undefined) expect(call).toEqual({ id, endpointId: endpoint.id, dueAt: now + 5 });
  return { id, eventId: end.events[0]?.id ?? '' };
}

function begin(id: string, now: number, owner = 'me', leaseUntil = now + 50): Call[] {
  return writer.beginCalls([{ id, owner, leaseUntil, nextAttemptAt: now + 7 }], now);
}

const stateOf = (id: string) =>
  writer.mail
    .query(
      'SELECT status, attempts, next_attempt_at AS due, owner, lease_until AS lease FROM calls WHERE id = ?',
    )
    .get(id);

test('what an account accepts asks the endpoint that was made since its last event, and is due by the steady time', () => {
  const other = newAccount('two');
  writer.createAccount(other);
  const accept = () => {
    const message = newMessage(other.id);
    message.events.push(newEvent(message.message, null, 'email.sent'));
    return writer.accept({ ...batchOf(other.id, message), now: 10, steadyNow: 25 });
  };
  expect(accept()).toEqual({ kind: 'accepted', calls: [] });
  const made = newEndpoint(other.id);
  writer.createEndpoint(made, 1);
  const calls = [{ id: expect.any(String), endpointId: made.id, dueAt: 25 }];
  expect(accept()).toEqual({ kind: 'accepted', calls });
});

test('an endpoint that is removed is asked by no event from then on', () => {
  expect(happen().id).not.toBe('no call');
  expect(writer.deleteEndpoint(account.id, endpoint.id, 20)).toBe(true);
  expect(happen().id).toBe('no call');
  expect(writer.column('SELECT count(*) FROM calls')).toEqual([1]);
});

test('what counts nothing is accepted over a limit, and leaves no row of use', () => {
  const accept = (count: number) => {
    const usage = { count, day: '2026-01-01', dailyLimit: 1, monthlyLimit: 1 };
    return writer.accept({ ...batchOf(account.id), usage }).kind;
  };
  expect(accept(0)).toBe('accepted');
  expect(writer.column('SELECT count FROM usage_days')).toEqual([]);
  expect(accept(1)).toBe('accepted');
  writer.mail.run('UPDATE usage_days SET count = 5');
  expect([accept(0), accept(1) === 'accepted']).toEqual(['accepted', false]);
  expect(writer.column('SELECT count FROM usage_days')).toEqual([5]);
});

test('a call begins once until its lease ends, counts its attempts, and is freed by its owner', () => {
  const { id } = happen();
  expect(stateOf(id)).toEqual({ status: 'open', attempts: 0, due: 15, owner: null, lease: null });
  expect(begin(id, 20)).toMatchObject([{ id, attempts: 1, nextAttemptAt: 27, createdAt: 10 }]);
  const begun = { status: 'open', attempts: 1, due: 27, owner: 'me', lease: 70 };
  expect([begin(id, 69, 'other'), stateOf(id)]).toEqual([[], begun]);
  expect(begin('unknown', 20)).toEqual([]);
  expect(begin(id, 70, 'other')).toMatchObject([{ id, attempts: 2 }]);
  const taken = { status: 'open', attempts: 2, due: 77, owner: 'other', lease: 120 };
  writer.releaseLeases('me', 80);
  expect(stateOf(id)).toEqual(taken);
  writer.releaseLeases('other', 80);
  expect(stateOf(id)).toEqual({ ...taken, owner: null, lease: null });
  begin(id, 200);
  writer.releaseLeases(null, 80);
  expect(stateOf(id)).toMatchObject({ attempts: 3, owner: null, lease: null });
});

test('an end is written once; one that a replay overtook leaves the call to the replay', () => {
  const { id, eventId } = happen();
  const [call] = begin(id, 20);
  if (call === undefined) throw new Error('not begun');
  const replayed = { id, endpointId: endpoint.id, dueAt: 33 };
  const one = { calls: [replayed], next: null };
  expect(writer.replayCalls(account.id, endpoint.id, { eventId }, 33)).toEqual(one);
  const open = { status: 'open', attempts: 0, due: 33, owner: null, lease: null };
  const answer = { endpointStatus: 'active', isOvertaken: true } as const;
  expect([writer.finishCall(finished(call, true)), stateOf(id)]).toEqual([answer, open]);
  const [again] = begin(id, 40);
  if (again === undefined) throw new Error('not begun');
  const failed = finished(again, false, { status: 'failed', nextAttemptAt: null, response: 'no' });
  expect(writer.finishCall(failed)).toEqual({ endpointStatus: 'active', isOvertaken: false });
  const ended = { status: 'failed', attempts: 1, due: null, owner: null, lease: null };
  expect(stateOf(id)).toEqual(ended);
  expect(writer.column('SELECT response FROM call_responses ORDER BY response')).toEqual([
    null,
    'no',
  ]);
  expect(writer.column('SELECT ok FROM call_attempts ORDER BY id')).toEqual([1, 0]);
  // From a moment on, of the account's own endpoint.
  const since = (accountId: string, endpointId: string, failedSince: number) =>
    writer.replayCalls(accountId, endpointId, { failedSince }, 55).calls;
  expect(since('another', endpoint.id, 0)).toEqual([]);
  expect(since(account.id, 'another', 0)).toEqual([]);
  expect(since(account.id, endpoint.id, 11)).toEqual([]);
  expect(stateOf(id)).toEqual(ended);
  expect(since(account.id, endpoint.id, 10)).toEqual([{ ...replayed, dueAt: 55 }]);
  expect(stateOf(id)).toEqual({ ...open, due: 55 });
});

test('the failure that is one too many disables the endpoint, and the next event fails at once', () => {
  const { id } = happen();
  const fail = (now: number) => {
    const [call] = begin(id, now);
    if (call === undefined) throw new Error('not begun');
    const end = finished(call, false, { nextAttemptAt: now, disableAfter: 2 });
    return writer.finishCall({ ...end, attempt: { ...end.attempt, createdAt: now + 3 } });
  };
  const health = () =>
    writer.mail.query('SELECT failure_count, last_failure_at FROM endpoints').values();
  expect(fail(20)).toEqual({ endpointStatus: 'active', isOvertaken: false });
  expect(health()).toEqual([[1, 23]]);
  expect(happen().id).not.toBe('no call');
  expect(fail(30)).toEqual({ endpointStatus: 'disabled', isOvertaken: false });
  expect(health()).toEqual([[2, 33]]);
  expect(happen().id).toBe('no call');
  expect(writer.column('SELECT status FROM calls ORDER BY status')).toEqual([
    'failed',
    'open',
    'open',
  ]);
  expect(begin(id, 40)).toEqual([]);
});

test('a disabled endpoint misses its open calls from before the moment, and no others', () => {
  const other = newEndpoint(account.id);
  writer.createEndpoint(other, 2);
  // At each moment one call for either endpoint.
  for (const now of [10, 20, 30]) happen(now, 2);
  const callsOf = ({ id }: { id: string }) =>
    writer.column('SELECT id FROM calls WHERE endpoint_id = ? ORDER BY created_at', id).map(String);
  const [early = '', middle = '', late = ''] = callsOf(endpoint);
  begin(early, 30);
  const states = (): unknown[] => [early, middle, late, ...callsOf(other)].map(stateOf);
  const before = states();
  const change = (status: 'active' | 'disabled') =>
    writer.updateEndpoint(account.id, endpoint.id, { status }, 50);
  const miss = (accountId: string) => writer.missCalls(accountId, endpoint.id, 20, null);
  // It is active, and then another account asks.
  expect([miss(account.id), states()]).toEqual([null, before]);
  expect(change('disabled')).toEqual({ ...endpoint, status: 'disabled' });
  expect([miss('another'), states()]).toEqual([null, before]);
  const missed = { status: 'failed', attempts: 1, due: null, owner: null, lease: null };
  expect([miss(account.id), states()]).toEqual([null, [missed, ...before.slice(1)]]);
  expect(change('active')).toEqual(endpoint);
  expect(states()).toEqual([missed, ...before.slice(1)]);
  expect(writer.updateEndpoint('another', endpoint.id, { status: 'disabled' }, 50)).toBeNull();
});

test('the end of a call whose endpoint has gone writes nothing', () => {
  const [call] = begin(happen().id, 20);
  if (call === undefined) throw new Error('not begun');
  const gone = { ...call, endpointId: 'gone' };
  const answer = { endpointStatus: 'disabled', isOvertaken: false } as const;
  expect(writer.finishCall(finished(gone, true))).toEqual(answer);
  expect(writer.column('SELECT id FROM call_attempts')).toEqual([]);
  expect(stateOf(call.id)).toMatchObject({ status: 'open', owner: 'me' });
});

test('due recipients are taken when they are due and free; a retry makes so many due and no others', () => {
  const ids = [10, 20, 30].map((nextAttemptAt) => {
    const message = newMessage(account.id);
    Object.assign(recipientOf(message), { nextAttemptAt });
    writer.accept(batchOf(account.id, message));
    return recipientOf(message).id;
  });
  expect(writer.takeStep('me', [...ids, 'unknown'], 20)).toEqual(ids.slice(0, 2));
  expect(writer.takeStep('other', ids, 30)).toEqual(ids.slice(2));
  expect(writer.takeStep('me', ids, 30)).toEqual(ids.slice(0, 2));
  const due = () => writer.column('SELECT next_attempt_at FROM recipients ORDER BY id');
  const retry = (target: { id: string | null; domain: string | null }, limit: number) =>
    writer.retryStep(target, 5, '', limit);
  expect(retry({ id: null, domain: 'nowhere.example' }, 9)).toBeNull();
  expect(retry({ id: ids[1] ?? '', domain: null }, 9)).toBeNull();
  expect(due()).toEqual([10, 5, 30]);
  expect(retry({ id: null, domain: 'example.org' }, 1)).toBe(ids[0] ?? 'one');
  expect(due()).toEqual([5, 5, 30]);
  expect([retry({ id: null, domain: null }, 9), due()]).toEqual([null, [5, 5, 5]]);
  writer.releaseLeases('me', 77);
  expect(writer.column('SELECT owner FROM recipients ORDER BY id')).toEqual([null, null, 'other']);
  writer.releaseLeases(null, 78);
  expect(writer.column('SELECT updated_at FROM recipients ORDER BY id')).toEqual([77, 77, 78]);
});
