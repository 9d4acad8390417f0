/** Every field of what is written stands in the column of its name: all are set here, and all are different. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';

import { POSITION } from '../../../src/store/sqlite/positions.ts';
import { domainWrites } from '../../../src/store/sqlite/write-domains.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newAttempt,
  newDomain,
  newEndpoint,
  newKey,
  newLogRecord,
  newMessage,
  recipientOf,
} from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const account = newAccount('one');
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  writer.createAccount(account);
});
afterEach(() => writer.close());

/** The only row of a table, its columns named as fields are. */
function rowOf(table: string, db: Database = writer.mail): unknown {
  const rows = db.query<Record<string, unknown>, []>('SELECT * FROM ' + table).all();
  expect(rows).toHaveLength(1);
  return Object.fromEntries(
    Object.entries(rows[0] ?? {}).map(([name, value]) => [
      name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

test('an account, a key, a domain and an endpoint', () => {
  const other = {
    ...account,
    id: 'b',
    name: 'two',
    status: 'paused' as const,
    statusReason: 'why',
  };
  writer.mail.run('DELETE FROM accounts');
  writer.createAccount(other);
  expect(rowOf('accounts')).toEqual(other);

  const key = { ...newKey(other.id), lastUsedAt: 11, revokedAt: 12, createdAt: 13 };
  expect(writer.createKey(key, Uint8Array.of(1, 2), 1)).toBe('created');
  expect(rowOf('api_keys')).toEqual({ ...key, isTest: 1, hash: Uint8Array.of(1, 2) });

  const domain = {
    ...newDomain(other.id, 'a.example'),
    createdAt: 21,
    verifiedAt: 22,
    lastCheckedAt: 23,
    nextCheckAt: 24,
    failingSince: 25,
    pendingSince: 26,
    deletedAt: 27,
  };
  expect(domainWrites(writer.mail).createDomain(domain, 1)).toBe('created');
  const recordStates = JSON.stringify(domain.recordStates);
  expect(rowOf('domains')).toEqual({ ...domain, recordStates, seenRecords: '{}' });

  const endpoint = newEndpoint(other.id, {
    events: ['email.sent', 'email.bounced'],
    status: 'disabled',
    sealedSecret: Uint8Array.of(3),
    sealedPreviousSecret: Uint8Array.of(4),
    previousUntil: 31,
    failureCount: 32,
    lastFailureAt: 33,
    createdAt: 34,
    deletedAt: 35,
  });
  expect(writer.createEndpoint(endpoint, 1)).toBe('created');
  expect(rowOf('endpoints')).toEqual({ ...endpoint, events: '["email.sent","email.bounced"]' });
});

test('what a check of a domain has found, beside what was seen before where nothing was looked at', () => {
  const domain = newDomain(account.id, 'a.example');
  const { createDomain, deleteDomain, finishDomainCheck } = domainWrites(writer.mail);
  const other = newDomain(account.id, 'b.example');
  for (const each of [domain, other]) createDomain(each, 9);
  const recordStates = { DKIM: 'verified', SPF: 'pending' } as const;
  const seen = { DKIM: { at: 's1.a.example', values: ['v=DKIM1'], problem: null } };
  const times = { now: 51, verifiedAt: 52, nextCheckAt: 53, failingSince: 54, pendingSince: 55 };
  const check = { id: domain.id, status: 'verified', recordStates, ...times } as const;
  finishDomainCheck({ ...check, seen });
  const row = (id: string): unknown =>
    writer.mail
      .query(
        'SELECT status, record_states AS recordStates, last_checked_at AS now, verified_at AS verifiedAt,' +
          ' next_check_at AS nextCheckAt, failing_since AS failingSince, pending_since AS pendingSince,' +
          ' seen_records AS seen FROM domains WHERE id = ?',
      )
      .get(id);
  const text = { recordStates: JSON.stringify(recordStates), seen: JSON.stringify(seen) };
  expect(row(domain.id)).toEqual({ ...times, ...text, status: 'verified' });
  finishDomainCheck({ ...check, now: 61, status: 'failed' });
  expect(row(domain.id)).toEqual({ ...times, ...text, now: 61, status: 'failed' });
  expect(row(other.id)).toMatchObject({ status: 'pending', now: null, seen: '{}' });
  // A removed one stays as it was.
  deleteDomain(account.id, domain.id, 70);
  finishDomainCheck({ ...check, now: 71 });
  expect(row(domain.id)).toMatchObject({ now: 61 });
});

test('a message with its content, its recipient, its events and an attempt', () => {
  const email = newMessage(account.id, {
    keyId: 'key',
    logId: 'log',
    domainId: 'domain',
    isSandbox: true,
    cc: ['cc@x.example'],
    bcc: ['bcc@x.example'],
    eventHeaders: [['X-One', '1']],
    failureReason: 'why',
    status: 'bounced',
    createdAt: 1,
    updatedAt: 2,
  });
  const recipient = Object.assign(recipientOf(email), {
    kind: 'bcc',
    attempts: 3,
    nextAttemptAt: 4,
    expiresAt: 5,
    lastReason: '450 later',
    delayedAt: 6,
    updatedAt: 7,
  } as const);
  Object.assign(email.body, { raw: Uint8Array.of(9) });
  Object.assign(email.body.attachments[0] ?? {}, { contentId: 'logo' });
  const [event] = email.events;
  Object.assign(event ?? {}, { recipientId: recipient.id, occurredAt: 8 });
  const record = { key: 'k', route: 'r', bodyHash: 'h', status: 202, response: '{}' };
  const idempotency = { ...record, createdAt: 41, expiresAt: 42 };
  writer.accept({ ...batchOf(account.id, email), idempotency });

  const { from, to, cc, bcc, replyTo, tags, eventHeaders, ...message } = email.message;
  expect(rowOf('messages')).toEqual({
    ...message,
    seq: 1,
    [POSITION]: 1,
    isSandbox: 1,
    sender: from,
    toList: JSON.stringify(to),
    ccList: JSON.stringify(cc),
    bccList: JSON.stringify(bcc),
    replyToList: JSON.stringify(replyTo),
    tags: JSON.stringify(tags),
    eventHeaders: JSON.stringify(eventHeaders),
  });
  expect(rowOf('recipients')).toEqual({ ...recipient, owner: null, leaseUntil: null });
  const { attachments, ...body } = email.body;
  const headers = JSON.stringify(body.headers);
  const bytes = expect.any(Number);
  expect(rowOf('bodies')).toEqual({ ...body, messageSeq: 1, headers, bytes });
  const [file] = attachments;
  const content = Uint8Array.from(file?.content ?? []);
  expect(rowOf('attachments')).toEqual({ ...file, messageSeq: 1, [POSITION]: 0, content });
  const { accountId: _account, ...written } = event ?? { accountId: '' };
  expect(rowOf('events')).toEqual({ ...written, webhookBody: null });
  expect(rowOf('idempotency')).toEqual({ ...idempotency, accountId: account.id });

  const attempt = newAttempt(recipient, {
    number: 51,
    beganAt: 52,
    endedAt: 53,
    outcome: 'deferred',
    class: 'network',
    mayBeDuplicate: true,
  });
  writer.finish(finishOf(email, recipient, { attempt, events: [] }));
  expect(rowOf('attempts')).toEqual({ ...attempt, mayBeDuplicate: 1 });
});

test('an attempt of a call, and a row of the request log', () => {
  const endpoint = newEndpoint(account.id);
  writer.createEndpoint(endpoint, 1);
  const attempt = {
    id: 'id',
    endpointId: endpoint.id,
    callId: 'call',
    eventType: 'email.sent',
    messageId: 'message',
    attempt: 2,
    statusCode: 500,
    ok: false,
    error: 'no',
    durationMs: 3,
    createdAt: 4,
  } as const;
  writer.recordTestCall(attempt);
  expect(rowOf('call_attempts')).toEqual({ ...attempt, ok: 0 });
  const request = newLogRecord(account.id, {
    keyId: 'key',
    isSandbox: true,
    status: 404,
    durationMs: 5,
    messageId: 'message',
    requestBody: 'request',
    responseBody: 'response',
    createdAt: 6,
  });
  writer.appendLogs([request]);
  expect(rowOf('logs', writer.log)).toEqual({ ...request, seq: 1, isSandbox: 1 });
});
