/**
 * The steps of retention and of erasing an address, called alone with small limits: what each answers, where it says to
 * go on, and what it leaves. What waits keeps its content, and the newest message its row.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import type { NewMessage } from '../../../src/store/journey.ts';
import type { ConfirmedPosition } from '../../../src/store/sqlite/verbs.ts';
import { MOST_ERASED } from '../../../src/store/sqlite/write-erasure.ts';
import {
  batchOf,
  newAccount,
  newEndpoint,
  newLogRecord,
  newMessage,
  newSuppression,
} from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';
import type { WriterAtHand } from './writer-at-hand.ts';

const [one, two] = [newAccount('one'), newAccount('two')];
let writer: WriterAtHand;

beforeEach(() => {
  writer = writerAtHand();
  for (const account of [one, two]) writer.createAccount(account);
});
afterEach(() => writer.close());

/** An id of this moment; `n` orders those of one moment. */
const idAt = (ms: number, n = 0): string =>
  `${idBound(ms)}-7000-8000-${String(n).padStart(12, '0')}`;

/** A message made at `createdAt` that waits for nobody, or for all its recipients. */
function accept(
  createdAt: number,
  { accountId = one.id, to = ['ann@x.example'], waits = false, n = 0 } = {},
): NewMessage {
  const message = newMessage(accountId, { id: idAt(createdAt, n), createdAt }, to);
  for (const [at, recipient] of message.recipients.entries()) {
    recipient.id = idAt(createdAt, n * 10 + at);
    recipient.nextAttemptAt = waits ? 5 : null;
  }
  expect(writer.accept(batchOf(accountId, message)).kind).toBe('accepted');
  return message;
}

const counts = (...tables: string[]) =>
  tables.map((table) => writer.column('SELECT count(*) FROM ' + table)[0]);

test('content goes from the oldest on up to the moment, and stays where somebody waits', () => {
  accept(10);
  accept(11, { waits: true });
  accept(12, { accountId: two.id });
  accept(13);
  accept(20);
  const size = writer.stored.of(two.id);
  expect(size).toBeGreaterThan(0);
  const left = () => writer.column('SELECT message_seq FROM bodies ORDER BY message_seq');
  expect(writer.purgeBodiesStep(10, 0, 2)).toEqual({ removed: 0, next: null });
  expect(writer.purgeBodiesStep(20, 0, 2)).toEqual({ removed: 1, next: 2 });
  expect(left()).toEqual([2, 3, 4, 5]);
  expect(writer.purgeBodiesStep(20, 2, 2)).toEqual({ removed: 2, next: 4 });
  expect(writer.purgeBodiesStep(20, 4, 2)).toEqual({ removed: 0, next: null });
  expect(left()).toEqual([2, 5]);
  expect(writer.column('SELECT message_seq FROM attachments ORDER BY message_seq')).toEqual([2, 5]);
  expect([writer.stored.of(one.id), writer.stored.of(two.id)]).toEqual([2 * size, 0]);
  // A full page may not be the last one, a shorter one is.
  expect(writer.purgeBodiesStep(99, 0, 2)).toEqual({ removed: 1, next: 5 });
  expect(writer.purgeBodiesStep(99, 5, 2)).toEqual({ removed: 0, next: null });
  expect(writer.purgeBodiesStep(99, 0, 2)).toEqual({ removed: 0, next: null });
  expect(left()).toEqual([2]);
});

test('messages go from the oldest on, but for what waits and the newest of all', () => {
  for (const at of [10, 11, 12, 13]) accept(at);
  accept(9, { waits: true });
  accept(8);
  const left = () => writer.column('SELECT created_at FROM messages ORDER BY seq');
  expect(writer.purgeMessagesStep(12, 1)).toBe(1);
  expect(left()).toEqual([11, 12, 13, 9, 8]);
  expect(writer.purgeMessagesStep(12, 9)).toBe(1);
  expect(writer.purgeMessagesStep(13, 9)).toBe(1);
  expect(writer.purgeMessagesStep(13, 9)).toBe(0);
  expect(left()).toEqual([13, 9, 8]);
  expect(counts('bodies', 'attachments', 'recipients', 'events')).toEqual([3, 3, 3, 3]);
});

test('attempts of calls go from one endpoint after the other until the limit, up to the moment', () => {
  const endpoints = [newEndpoint(one.id), newEndpoint(two.id)];
  for (const endpoint of endpoints) writer.createEndpoint(endpoint, 1);
  const rest = { eventType: 'email.sent', attempt: 1, statusCode: 200, ok: true } as const;
  for (const [n, { id: endpointId }] of endpoints.entries()) {
    for (const at of [10, 11, 12]) {
      const [callId, messageId] = [idAt(1), idAt(2)];
      const ids = { id: idAt(at, n), callId, endpointId, messageId };
      writer.recordTestCall({ ...rest, ...ids, error: null, durationMs: 3, createdAt: at });
    }
  }
  const left = () => writer.column('SELECT created_at FROM call_attempts ORDER BY created_at');
  const [first = ''] = endpoints.map(({ id }) => id).toSorted();
  // The second one may have more: the next step begins behind the first.
  expect(writer.purgeCallAttemptsStep(12, '', 3)).toEqual({ removed: 3, next: first });
  expect(left()).toEqual([11, 12, 12]);
  expect(writer.purgeCallAttemptsStep(12, first, 3)).toEqual({ removed: 1, next: null });
  expect(writer.purgeCallAttemptsStep(12, '', 3)).toEqual({ removed: 0, next: null });
  expect(left()).toEqual([12, 12]);
});

test('rows of every kind go up to the moment, the oldest first, so many at once', () => {
  for (const at of [10, 11, 12]) accept(at);
  for (const [n, at] of [10, 11, 12].entries()) {
    writer.mail.run('INSERT INTO settings (name, value) VALUES (?, ?)', [`until:${n}`, `${at}`]);
    writer.addSuppression(newSuppression(one.id, `${n}@x`));
    writer.removeSuppression(one.id, `${n}@x`, at);
    const record = { key: `${n}`, route: 'r', bodyHash: 'h', status: 200, response: '' };
    const idempotency = { ...record, createdAt: 1, expiresAt: at };
    writer.accept({ ...batchOf(one.id), idempotency });
  }
  writer.mail.run("INSERT INTO settings (name, value) VALUES ('until;', '1'), ('until', '1')");
  writer.addSuppression(newSuppression(one.id, 'kept@x'));
  const kinds = ['events', 'settings', 'suppressions', 'idempotency'] as const;
  const before = counts(...kinds);
  for (const kind of kinds) {
    const steps = [10, 12, 12, 12].map((moment) => writer.purgeStep(kind, moment, 1));
    expect([kind, ...steps]).toEqual([kind, 0, 1, 1, 0]);
  }
  expect(counts(...kinds)).toEqual(before.map((count) => Number(count) - 2));
});

test('an address is erased in pages of recipients: what is alone goes, what is shared stays, what waits is counted', () => {
  const shared = ['b@x.example', 'Ann@X.example'];
  accept(10);
  accept(11, { to: shared });
  accept(12, { waits: true });
  accept(13, { accountId: two.id });
  accept(14, { to: ['ann@x.example', 'ANN@x.example'] });
  accept(15, { to: ['joann@x.example'] });
  const last = accept(16);
  const step = (after: string, limit: number, accountId: string | null = one.id) =>
    writer.eraseStep('ann@x.example', accountId, after, limit);
  const none = { messages: 0, shared: 0, waiting: 0 };
  expect(step('', 2)).toEqual({ ...none, messages: 1, next: idAt(11, 0) });
  expect(step(idAt(11, 0), 2)).toEqual({ ...none, shared: 1, waiting: 1, next: idAt(12) });
  // Another account's, then a message that goes with the first of its two recipients.
  expect(step(idAt(12), 3)).toEqual({ ...none, messages: 1, next: idAt(14, 1) });
  expect(step(idAt(14, 1), 3)).toEqual({ ...none, shared: 1, next: null });
  expect(step(idAt(15), 1)).toEqual({ ...none, next: null });
  const rows = writer.mail.query('SELECT created_at AS at, subject, to_list AS "to" FROM messages');
  expect(rows.all()).toEqual([
    { at: 11, subject: '[erased]', to: '["b@x.example"]' },
    { at: 12, subject: 'Your order', to: '["ann@x.example"]' },
    { at: 13, subject: 'Your order', to: '["ann@x.example"]' },
    { at: 15, subject: 'Your order', to: '["joann@x.example"]' },
    { at: 16, subject: '[erased]', to: '[]' },
  ]);
  expect(writer.column('SELECT message_seq FROM bodies ORDER BY message_seq')).toEqual([3, 4, 6]);
  expect(writer.column('SELECT id FROM recipients ORDER BY id')).toEqual(
    [11, 12, 13, 15].map((at) => idAt(at)),
  );
  expect(writer.stored.of(one.id)).toBe(2 * writer.stored.of(two.id));
  expect(step('', 9, null)).toEqual({ ...none, messages: 1, waiting: 1, next: null });
  expect(last.recipients).toHaveLength(1);
});

test('a message that stays loses the address from each of its lists, with the content and what was said of it', () => {
  const lists = {
    cc: ['ANN@x.example', 'c@x.example'],
    bcc: ['b@x.example', 'Ann@x.example'],
    replyTo: ['Help <help@x.example>', 'Ann <ann@x.example>'],
  };
  const message = newMessage(one.id, { ...lists, failureReason: '550 ann' }, [
    'ann@x.example',
    'd@x.example',
  ]);
  for (const recipient of message.recipients) recipient.nextAttemptAt = null;
  writer.accept(batchOf(one.id, message));
  expect(writer.eraseStep('ann@x.example', null, '', 9)).toMatchObject({ shared: 1 });
  const row = writer.mail.query(
    'SELECT to_list AS "to", cc_list AS cc, bcc_list AS bcc, reply_to_list AS replyTo, subject, failure_reason AS reason, event_headers AS headers FROM messages',
  );
  expect(row.all()).toEqual([
    {
      to: '["d@x.example"]',
      cc: '["c@x.example"]',
      bcc: '["b@x.example"]',
      replyTo: '["Help <help@x.example>"]',
      subject: '[erased]',
      reason: null,
      headers: null,
    },
  ]);
  expect(counts('bodies', 'attachments')).toEqual([0, 0]);
});

test('one step counts every email that goes, stays or waits, and every row of the log', () => {
  for (const n of [0, 1, 2]) {
    accept(10, { n });
    accept(11, { to: ['ann@x.example', 'b@x.example'], n });
    accept(12, { waits: true, n });
  }
  accept(13);
  const step = writer.eraseStep('ann@x.example', one.id, '', 12);
  expect(step).toEqual({ messages: 3, shared: 3, waiting: 3, next: idAt(12, 20) });
  const named = { requestBody: 'ann@x.example' };
  writer.appendLogs([1, 2, 3].map(() => newLogRecord(one.id, named)));
  expect(writer.eraseLogsStep('ann@x.example', one.id, 0, 9)).toEqual({ removed: 3, next: null });
});

test('confirmed recipients are looked through in pages, in one account or in all', () => {
  for (const { id } of [one, two]) {
    for (const name of ['Ann', 'ann', 'bob', 'joann']) {
      writer.addConfirmedRecipient(id, `${name}@x.example`, 1);
    }
  }
  const [first, second] = [one.id, two.id].toSorted();
  if (first === undefined || second === undefined) throw new Error('no account');
  const step = (accountId: string | null, after: ConfirmedPosition, limit: number) =>
    writer.eraseConfirmedStep('ann@x.example', accountId, after, limit);
  const start = { accountId: '', email: '' };
  const at = { accountId: first, email: 'ann@x.example' };
  expect(step(second, start, 2)).toEqual({ removed: 0, next: at });
  expect(step(first, start, 2)).toEqual({ removed: 2, next: at });
  const later = { accountId: second, email: 'ann@x.example' };
  expect(step(null, at, 4)).toEqual({ removed: 2, next: later });
  expect(step(null, later, 3)).toEqual({ removed: 0, next: null });
  const left = ['bob@x.example', 'joann@x.example'];
  expect(
    writer.column('SELECT email FROM confirmed_recipients ORDER BY account_id, email'),
  ).toEqual([...left, ...left]);
});

test('suppressions are looked through by their numbers, lose what was noted, and keep the newest mark of a removal', () => {
  for (const { id } of [one, two]) {
    writer.addSuppression(newSuppression(id, 'ann@x.example', { note: 'n', source: 's' }));
    writer.addSuppression(newSuppression(id, 'bob@x.example', { note: 'n', source: 's' }));
  }
  const step = (address: string, accountId: string | null, after: number, limit: number) =>
    writer.eraseSuppressionsStep(address, accountId, after, limit);
  const notes = () => writer.column('SELECT note FROM suppressions ORDER BY seq');
  expect(step('ann@x.example', two.id, 0, 2)).toEqual({ kept: 0, next: 2 });
  expect(step('ann@x.example', one.id, 0, 2)).toEqual({ kept: 1, next: 2 });
  expect(notes()).toEqual([null, 'n', 'n', 'n']);
  expect(step('ann@x.example', null, 0, 1)).toEqual({ kept: 1, next: 1 });
  expect(step('ann@x.example', null, 1, 2)).toEqual({ kept: 1, next: 3 });
  expect(step('ann@x.example', null, 3, 1)).toEqual({ kept: 0, next: null });
  expect(notes()).toEqual([null, 'n', null, 'n']);
  expect(writer.column('SELECT source FROM suppressions ORDER BY seq')).toEqual(
    notes().map((n) => n && 's'),
  );
  for (const { id } of [one, two]) writer.removeSuppression(id, 'bob@x.example', 5);
  expect(step('bob@x.example', null, 2, 2)).toEqual({ kept: 0, next: null });
  expect(writer.column('SELECT seq FROM suppressions ORDER BY seq')).toEqual([1, 2, 3, 4]);
  expect(step('bob@x.example', null, 0, 9)).toEqual({ kept: 0, next: null });
  expect(writer.column('SELECT seq FROM suppressions ORDER BY seq')).toEqual([1, 3, 4]);
});

test('a step that has erased fifty emails goes no further', () => {
  for (let at = 1; at <= MOST_ERASED + 1; at += 1) {
    accept(at, at % 2 === 0 ? {} : { to: ['b@x.example', 'ann@x.example'] });
  }
  accept(MOST_ERASED + 2);
  const step = writer.eraseStep('ann@x.example', null, '', 1_000);
  const half = MOST_ERASED / 2;
  expect(step).toEqual({ messages: half, shared: half, waiting: 0, next: idAt(MOST_ERASED) });
  const rest = writer.eraseStep('ann@x.example', null, step.next ?? '', 1_000);
  expect(rest).toEqual({ messages: 0, shared: 2, waiting: 0, next: null });
});

test('log rows are looked through in pages, and those that name the address go', () => {
  const named = { path: '/suppressions/Ann%40x.example' };
  const records = [
    newLogRecord(one.id, named),
    newLogRecord(two.id, { requestBody: 'to ANN@x.example' }),
    newLogRecord(one.id),
    newLogRecord(one.id, { responseBody: 'ann@x.example', requestBody: null }),
    newLogRecord(one.id, { requestBody: null, responseBody: null }),
  ];
  writer.appendLogs(records);
  const step = (accountId: string | null, after: number, limit: number) =>
    writer.eraseLogsStep('ann@x.example', accountId, after, limit);
  expect(step(one.id, 0, 2)).toEqual({ removed: 1, next: 2 });
  expect(step(one.id, 2, 3)).toEqual({ removed: 1, next: 5 });
  expect(step(one.id, 5, 3)).toEqual({ removed: 0, next: null });
  expect(step(null, 0, 9)).toEqual({ removed: 1, next: null });
  expect(writer.log.query('SELECT seq FROM logs ORDER BY seq').values()).toEqual([[3], [5]]);
});

test('the oldest rows of a log are looked at, so many at once, and go when they are from before the moment', () => {
  const made = [10, 30, 11, 12];
  writer.appendLogs(made.map((createdAt) => newLogRecord(one.id, { createdAt })));
  writer.appendLogs([newLogRecord(two.id, { createdAt: 1 })]);
  expect(writer.purgeLogsStep(one.id, 10, 9)).toBe(0);
  expect(writer.purgeLogsStep(one.id, 12, 2)).toBe(1);
  expect(writer.purgeLogsStep(one.id, 12, 2)).toBe(1);
  // The row in front is younger: one look at two rows finds nothing more.
  expect(writer.purgeLogsStep(one.id, 12, 2)).toBe(0);
  expect(writer.log.query('SELECT created_at FROM logs ORDER BY seq').values()).toEqual([
    [30],
    [12],
    [1],
  ]);
});

test('a step goes through a hundred endpoints, whether they have attempts or not', () => {
  const ids = Array.from({ length: 150 }, () => {
    const endpoint = newEndpoint(one.id);
    writer.createEndpoint(endpoint, 999);
    return endpoint.id;
  }).toSorted();
  const last = ids[99] ?? '';
  expect(writer.purgeCallAttemptsStep(12, '', 3)).toEqual({ removed: 0, next: last });
  expect(writer.purgeCallAttemptsStep(12, last, 3)).toEqual({ removed: 0, next: null });
});

/** The hours that are left of an account, or of all of them together. */
const hoursOf = (id: string) =>
  writer.mail
    .query('SELECT hour FROM outcome_hours WHERE account_id = ? ORDER BY hour')
    .values(id)
    .flat();

function addHours(id: string, hours: number[]): void {
  for (const hour of hours) {
    writer.mail.run("INSERT INTO outcome_hours VALUES (?, ?, 'other', '', 1, 0, 0, 0, 0)", [
      id,
      hour,
    ]);
  }
}

test('hourly sums go up to the hour of the moment, so many at once, those of all accounts together, too', () => {
  const [first = '', second = ''] = [one.id, two.id].toSorted();
  for (const id of ['', first, second]) addHours(id, [1, 2, 3]);
  const step = (after: string, limit: number) =>
    writer.purgeOutcomesStep(3 * 3_600_000 + 5, after, limit);
  const left = () => ['', first, second].map(hoursOf);
  expect(step(first, 1)).toEqual({ removed: 1, next: first });
  expect(left()).toEqual([
    [1, 2, 3],
    [1, 2, 3],
    [2, 3],
  ]);
  expect(step('', 4)).toEqual({ removed: 4, next: '' });
  expect(left()).toEqual([[3], [3], [2, 3]]);
  expect(step('', 2)).toEqual({ removed: 1, next: null });
  expect(step('', 2)).toEqual({ removed: 0, next: null });
  expect(left()).toEqual([[3], [3], [3]]);
});

test('a step goes through a thousand accounts, whether they have hours or not', () => {
  for (let count = 0; count < 1_200; count += 1) writer.createAccount(newAccount(`n${count}`));
  const ids = writer.column('SELECT id FROM accounts ORDER BY id') as string[];
  const [last = '', end = ''] = [ids[999], ids.at(-1)];
  for (const id of [last, end]) addHours(id, [1]);
  expect(writer.purgeOutcomesStep(7_200_000, '', 3)).toEqual({ removed: 1, next: last });
  expect(hoursOf(end)).toEqual([1]);
  expect(writer.purgeOutcomesStep(7_200_000, last, 3)).toEqual({ removed: 1, next: null });
  expect([hoursOf(last), hoursOf(end)]).toEqual([[], []]);
});
