/**
 * What the longer writes ask of the writer, step by step: in which order, how much at a time, where they go on, when they
 * end, and what they sum up. A step that is larger holds up the mail; one that is left out leaves something behind.
 */
import { expect, test } from 'bun:test';

import { accountDeletions } from '../../../src/store/sqlite/account-deletion.ts';
import { erasures } from '../../../src/store/sqlite/erasure.ts';
import { purges } from '../../../src/store/sqlite/purges.ts';
import type { WriterClient } from '../../../src/store/sqlite/writer-client.ts';
import { retrySteps, suppressionSteps } from '../../../src/store/sqlite/writes.ts';
import { newSuppression } from '../samples.ts';

const DAY_MS = 86_400_000;

/** A writer that answers each verb from its list, the last answer again and again, and notes what it was asked. */
function scripted(answers: Record<string, unknown[]>): {
  writer: WriterClient;
  asked: unknown[][];
} {
  const asked: unknown[][] = [];
  const answer = async (...call: unknown[]): Promise<unknown> => {
    asked.push(call);
    const left = answers[String(call[0])] ?? [];
    return left.length > 1 ? left.shift() : left[0];
  };
  return { writer: { write: answer, writeLog: answer } as unknown as WriterClient, asked };
}

test('an account is deleted in steps: what waits, messages, lists, and again what came meanwhile', async () => {
  const { writer, asked } = scripted({
    closeAccount: [3],
    stopWaitingStep: [{ dueAt: 7, id: 'r' }, null],
    dropAccountMessagesStep: [50, 50, 0, 49],
    dropAccountRowsStep: [
      { suppressions: 1_000, confirmed: 0, left: 1 },
      { suppressions: 20, confirmed: 3, left: 0 },
    ],
    dropAccountDomainsStep: [200, 3, 0],
    dropAccountEnd: [
      { isGone: false, domains: 1, webhooks: 2 },
      { isGone: true, domains: 10, webhooks: 20 },
    ],
    dropAccountLogsStep: [1_000, 999],
  });
  const deletions = accountDeletions(writer);
  expect(await deletions.closeAccount('a', 'why')).toBe(3);
  const told: number[] = [];
  const gone = await deletions.removeAccount('a', ['own'], (messages) => told.push(messages));
  expect(gone).toEqual({
    messages: 149,
    log_rows: 1_999,
    // The last answer comes once more in the second round.
    suppressions: 1_040,
    confirmed: 6,
    domains: 214,
    webhooks: 22,
  });
  // Nothing is told of a step that has removed nothing.
  expect(told).toEqual([50, 100, 149]);
  expect(asked).toEqual([
    ['closeAccount', 'a', 'why'],
    ['stopWaitingStep', 'a', { dueAt: 0, id: '' }, 1_000],
    ['stopWaitingStep', 'a', { dueAt: 7, id: 'r' }, 1_000],
    ['dropAccountMessagesStep', 'a', 50],
    ['dropAccountMessagesStep', 'a', 50],
    ['dropAccountMessagesStep', 'a', 50],
    ['dropAccountRowsStep', 'a', 1_000],
    ['dropAccountRowsStep', 'a', 1_000],
    ['dropAccountDomainsStep', 'a', 200],
    ['dropAccountDomainsStep', 'a', 200],
    ['dropAccountEnd', 'a', ['own']],
    ['dropAccountMessagesStep', 'a', 50],
    ['dropAccountRowsStep', 'a', 1_000],
    ['dropAccountDomainsStep', 'a', 200],
    ['dropAccountEnd', 'a', ['own']],
    ['dropAccountLogsStep', 'a', 1_000],
    ['dropAccountLogsStep', 'a', 1_000],
  ]);
});

test('an account without anything is deleted with one step of each', async () => {
  const { writer, asked } = scripted({
    stopWaitingStep: [null],
    dropAccountMessagesStep: [0],
    dropAccountRowsStep: [{ suppressions: 0, confirmed: 0, left: 0 }],
    dropAccountDomainsStep: [0],
    dropAccountEnd: [{ isGone: true, domains: 0, webhooks: 0 }],
    dropAccountLogsStep: [0],
  });
  const gone = await accountDeletions(writer).removeAccount('a', [], () => {
    throw new Error('nothing is to be told');
  });
  expect(gone).toEqual({
    messages: 0,
    log_rows: 0,
    suppressions: 0,
    confirmed: 0,
    domains: 0,
    webhooks: 0,
  });
  expect(asked.map(([verb]) => verb)).toEqual([
    'stopWaitingStep',
    'dropAccountMessagesStep',
    'dropAccountRowsStep',
    'dropAccountDomainsStep',
    'dropAccountEnd',
    'dropAccountLogsStep',
  ]);
});

test('a person is erased from the recipients, then the lists, then the request log', async () => {
  const { writer, asked } = scripted({
    eraseStep: [
      { messages: 1, shared: 2, waiting: 4, next: 'r' },
      { messages: 10, shared: 20, waiting: 40, next: null },
    ],
    eraseConfirmedStep: [
      { removed: 1, next: { accountId: 'a', email: 'b@x' } },
      { removed: 4, next: null },
    ],
    eraseSuppressionsStep: [
      { kept: 2, next: 5_000 },
      { kept: 4, next: null },
    ],
    eraseLogsStep: [
      { removed: 7, next: 9 },
      { removed: 70, next: null },
    ],
  });
  expect(await erasures(writer).eraseAddress('ann@x.example', 'a')).toEqual({
    messages: 11,
    shared: 22,
    waiting: 44,
    log_rows: 77,
    confirmed: 5,
    suppressions_kept: 6,
  });
  expect(asked).toEqual([
    ['eraseStep', 'ann@x.example', 'a', '', 1_000],
    ['eraseStep', 'ann@x.example', 'a', 'r', 1_000],
    ['eraseConfirmedStep', 'ann@x.example', 'a', { accountId: '', email: '' }, 1_000],
    ['eraseConfirmedStep', 'ann@x.example', 'a', { accountId: 'a', email: 'b@x' }, 1_000],
    ['eraseSuppressionsStep', 'ann@x.example', 'a', 0, 5_000],
    ['eraseSuppressionsStep', 'ann@x.example', 'a', 5_000, 5_000],
    ['eraseLogsStep', 'ann@x.example', 'a', 0, 200],
    ['eraseLogsStep', 'ann@x.example', 'a', 9, 200],
  ]);
});

test('retention removes a hundred rows at a time, until a step has fewer, and calls before their events', async () => {
  const { writer, asked } = scripted({
    purgeBodiesStep: [
      { removed: 3, next: 8 },
      { removed: 4, next: null },
    ],
    purgeStep: [100, 99],
    purgeCallAttemptsStep: [
      { removed: 100, next: 'e' },
      { removed: 5, next: null },
    ],
    purgeMessagesStep: [100, 100, 0],
    purgeAuditStep: [100, 2],
    purgeLogsStep: [1],
  });
  const verbs = purges(writer);
  await verbs.prepareDays(0);
  expect(await verbs.purgeBodies(50)).toBe(7);
  expect(await verbs.purgeHistory(60)).toBe(100 + 99 + 105 + 99 + 99);
  expect(await verbs.purgeMessages(70)).toBe(200);
  expect(await verbs.purgeAudit(80, 9)).toBe(102);
  expect(await verbs.purgeLogs('a', 90)).toBe(1);
  await verbs.scrub();
  expect(asked).toEqual([
    ['purgeBodiesStep', 50, 0, 100],
    ['purgeBodiesStep', 50, 8, 100],
    ['purgeStep', 'calls', 60, 100],
    ['purgeStep', 'calls', 60, 100],
    ['purgeCallAttemptsStep', 60, '', 100],
    ['purgeCallAttemptsStep', 60, 'e', 100],
    ['purgeStep', 'events', 60, 100],
    ['purgeStep', 'attempts', 60, 100],
    ['purgeMessagesStep', 70, 100],
    ['purgeMessagesStep', 70, 100],
    ['purgeMessagesStep', 70, 100],
    ['purgeAuditStep', 80, 9, 100],
    ['purgeAuditStep', 80, 9, 100],
    ['purgeLogsStep', 'a', 90, 100],
    ['scrubMail'],
    ['scrubLog'],
  ]);
});

test('what expires goes by the steady time, counters and marks by the time of day', async () => {
  const { writer, asked } = scripted({
    purgeStep: [1, 2, 8, 16, 32],
    purgeOutcomesStep: [
      { removed: 4, next: 'a' },
      { removed: 64, next: null },
      { removed: 0, next: null },
    ],
  });
  const verbs = purges(writer);
  expect(await verbs.purgeExpired(1_000 * DAY_MS, 5)).toBe(95);
  await verbs.purgeExpired(1_000 * DAY_MS);
  const marks = [
    ['purgeStep', 'harm', 991 * DAY_MS, 100],
    ['purgeStep', 'suppressions', 993 * DAY_MS, 100],
  ];
  expect(asked).toEqual([
    ['purgeStep', 'idempotency', 5, 100],
    ['purgeStep', 'settings', 5, 100],
    ['purgeOutcomesStep', 908 * DAY_MS, '', 100],
    ['purgeOutcomesStep', 908 * DAY_MS, 'a', 100],
    ...marks,
    ['purgeStep', 'idempotency', 1_000 * DAY_MS, 100],
    ['purgeStep', 'settings', 1_000 * DAY_MS, 100],
    ['purgeOutcomesStep', 908 * DAY_MS, '', 100],
    ...marks,
  ]);
});

test('suppressions are added a thousand at a time, in their order', async () => {
  const rows = Array.from({ length: 2_001 }, (_, at) => newSuppression('a', `r${at}@x.example`));
  const { writer, asked } = scripted({ addSuppressionsStep: [900, 90, 1] });
  const { addSuppressions } = suppressionSteps(writer);
  expect(await addSuppressions(rows)).toBe(991);
  expect(asked).toEqual([
    ['addSuppressionsStep', rows.slice(0, 1_000)],
    ['addSuppressionsStep', rows.slice(1_000, 2_000)],
    ['addSuppressionsStep', rows.slice(2_000)],
  ]);
  asked.length = 0;
  expect(await addSuppressions([])).toBe(0);
  expect(asked).toEqual([]);
});

test('a retry is counted before, and each step goes on behind the one before', async () => {
  const { writer, asked } = scripted({ retryStep: ['id1', 'id2', null] });
  const target = { id: null, domain: 'x.example' };
  const counted: unknown[] = [];
  const { retryNow } = retrySteps(writer, async (...question) => {
    counted.push(question, asked.length);
    return 2_500;
  });
  expect(await retryNow(target, 77)).toBe(2_500);
  expect(counted).toEqual([[target, 77], 0]);
  expect(asked).toEqual(['', 'id1', 'id2'].map((after) => ['retryStep', target, 77, after, 250]));
});
