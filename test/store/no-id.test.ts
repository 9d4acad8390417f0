/** What is no id is nobody's: every verb that takes one finds nothing and changes nothing, and none of them fails. */
import { expect } from 'bun:test';

import { MESSAGE_STATUSES } from '../../src/base/status.ts';
import type { Account } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { furnish } from './furnished-account.ts';
import { eachStore } from './stores.ts';

const NO = 'no id';
const PAGE = { limit: 9, after: null, before: null };
const MAIL = { ...PAGE, q: null, status: null };
const EMPTY = { rows: [], hasMore: false };
const NONE = Object.fromEntries(MESSAGE_STATUSES.map((status) => [status, 0]));
const CHECK = {
  now: 1,
  status: 'failed',
  recordStates: {},
  verifiedAt: null,
  nextCheckAt: null,
  failingSince: null,
  pendingSince: 1,
} as const;

/** Each question with its answer. `own`: an id that there is. */
type Case = [verb: string, answer: unknown, ask: (store: Store, own: string) => Promise<unknown>];

const ACCOUNTS: Case[] = [
  ['setAccountStatus', false, (store) => store.setAccountStatus(NO, 'paused', 'Why.')],
  ['changeAccount', 'absent', (store) => store.changeAccount(NO, { name: 'n', plan: 'p' })],
  ['account', null, (store) => store.account(NO)],
  ['keys', [], (store) => store.keys(NO)],
  ['revokeKey of no account', false, (store, own) => store.revokeKey(NO, own, 1)],
  ['revokeKey', false, (store, own) => store.revokeKey(own, NO, 1)],
  ['renameKey of no account', false, (store, own) => store.renameKey(NO, own, 'n')],
  ['renameKey', false, (store, own) => store.renameKey(own, NO, 'n')],
  ['touchKeys', undefined, (store) => store.touchKeys([{ id: NO, usedAt: 1 }])],
  ['removeConfirmedRecipient', false, (store) => store.removeConfirmedRecipient(NO, 'x@x.example')],
  ['confirmedRecipients', [], (store) => store.confirmedRecipients(NO, { limit: 9, after: '' })],
  ['confirmed', new Set(), (store) => store.confirmed(NO, ['x@x.example'])],
  ['usedInMonth', 0, (store) => store.usedInMonth(NO, '2026-01')],
  ['usedOnDay', 0, (store) => store.usedOnDay(NO, '2026-01-15')],
  ['usedByDay', [], (store) => store.usedByDay(NO, '2026-01-15')],
  ['storedBytes', 0, (store) => store.storedBytes(NO)],
  ['countsByStatus', NONE, (store) => store.countsByStatus(NO, 0)],
  ['sandboxCountsByStatus', NONE, (store) => store.sandboxCountsByStatus(NO, 0)],
  ['closeAccount', 0, (store) => store.closeAccount(NO, 'Why.')],
  [
    'removeAccount',
    { messages: 0, log_rows: 0, suppressions: 0, confirmed: 0, domains: 0, webhooks: 0 },
    (store) => store.removeAccount(NO, [], () => undefined),
  ],
];

const OWNED: Case[] = [
  ['domains', [], (store) => store.domains(NO)],
  ['domain of no account', null, (store, own) => store.domain(NO, own)],
  ['domain', null, (store, own) => store.domain(own, NO)],
  ['domainByName', null, (store) => store.domainByName(NO, 'acme.example')],
  ['domainsDue', [], (store) => store.domainsDue(NO, 1, 9)],
  ['domainForSigning', null, (store) => store.domainForSigning(NO)],
  ['seenRecords of no account', {}, (store, own) => store.seenRecords(NO, own)],
  ['seenRecords', {}, (store, own) => store.seenRecords(own, NO)],
  ['deleteDomain of no account', false, (store, own) => store.deleteDomain(NO, own, 1)],
  ['deleteDomain', false, (store, own) => store.deleteDomain(own, NO, 1)],
  ['finishDomainCheck', undefined, (store) => store.finishDomainCheck({ ...CHECK, id: NO })],
  ['activateDkimKey', false, (store) => store.activateDkimKey(NO, 'pr2', 1)],
  ['endpoints', [], (store) => store.endpoints(NO)],
  ['endpoint of no account', null, (store, own) => store.endpoint(NO, own)],
  ['endpoint', null, (store, own) => store.endpoint(own, NO)],
  ['endpointById', null, (store) => store.endpointById(NO)],
  ['updateEndpoint of no account', null, (store, own) => store.updateEndpoint(NO, own, {}, 1)],
  ['updateEndpoint', null, (store, own) => store.updateEndpoint(own, NO, {}, 1)],
  [
    'rotateEndpointSecret of no account',
    false,
    (store, own) => store.rotateEndpointSecret(NO, own, Buffer.of(1), 1),
  ],
  [
    'rotateEndpointSecret',
    false,
    (store, own) => store.rotateEndpointSecret(own, NO, Buffer.of(1), 1),
  ],
  ['deleteEndpoint of no account', false, (store, own) => store.deleteEndpoint(NO, own, 1)],
  ['deleteEndpoint', false, (store, own) => store.deleteEndpoint(own, NO, 1)],
  ['callsOfMessage', [], (store) => store.callsOfMessage(NO)],
  ['callAttempts', EMPTY, (store) => store.callAttempts(NO, PAGE)],
  ['attemptDetail of no endpoint', null, (store, own) => store.attemptDetail(NO, own)],
  ['attemptDetail', null, (store, own) => store.attemptDetail(own, NO)],
  [
    'replayCalls of no account',
    { calls: [], next: null },
    (store, own) => store.replayCalls(NO, own, { failedSince: 0 }, 1),
  ],
  [
    'replayCalls',
    { calls: [], next: null },
    (store, own) => store.replayCalls(own, NO, { failedSince: 0 }, 1),
  ],
  ['missCalls', null, (store, own) => store.missCalls(own, NO, 9, null)],
  ['missCalls of no account', null, (store, own) => store.missCalls(NO, own, 9, null)],
  ['suppression', null, (store) => store.suppression(NO, 'x@x.example')],
  ['suppressionById of no account', null, (store, own) => store.suppressionById(NO, own)],
  ['suppressionById', null, (store, own) => store.suppressionById(own, NO)],
  ['suppressed', new Map(), (store) => store.suppressed(NO, ['x@x.example'])],
  ['suppressions', EMPTY, (store) => store.suppressions(NO, null, PAGE)],
  ['removeSuppression', false, (store) => store.removeSuppression(NO, 'x@x.example', 1)],
  ['operator', null, (store) => store.operator(NO)],
  ['removeOperator', false, (store) => store.removeOperator(NO)],
];

const MESSAGES: Case[] = [
  ['message of no account', null, (store, own) => store.message(NO, own)],
  ['message', null, (store, own) => store.message(own, NO)],
  ['messageById', null, (store) => store.messageById(NO)],
  ['messageForDelivery', null, (store) => store.messageForDelivery(NO)],
  ['body of no account', null, (store, own) => store.body(NO, own)],
  ['body', null, (store, own) => store.body(own, NO)],
  ['listedBody of no account', null, (store, own) => store.listedBody(NO, own)],
  ['listedBody', null, (store, own) => store.listedBody(own, NO)],
  ['contentSizes of no account', null, (store, own) => store.contentSizes(NO, own)],
  ['contentSizes', null, (store, own) => store.contentSizes(own, NO)],
  ['recipients', [], (store) => store.recipients(NO)],
  ['recipientById', null, (store) => store.recipientById(NO)],
  ['events', [], (store) => store.events(NO)],
  ['attempts', [], (store) => store.attempts(NO)],
  ['emails', EMPTY, (store) => store.emails(NO, MAIL)],
  ['emailsByPage', [], (store) => store.emailsByPage(NO, 1, 9)],
  ['idempotencyRecord', null, (store) => store.idempotencyRecord(NO, 'k', 0)],
  ['logs', EMPTY, (store) => store.logs(NO, { ...MAIL, method: null })],
  ['log of no account', null, (store, own) => store.log(NO, own)],
  ['log', null, (store, own) => store.log(own, NO)],
  ['purgeLogs', 0, (store) => store.purgeLogs(NO, Number.MAX_SAFE_INTEGER)],
  ['harm', { hardBounces: 0, complaints: 0 }, (store) => store.harm(NO, 0)],
  ['retryNow', 0, (store) => store.retryNow({ id: NO, domain: null }, 1)],
];

/** What the account has, by some lists. */
const seenOf = async (store: Store, { id }: Account): Promise<unknown> => [
  await store.accounts(),
  await store.keys(id),
  await store.domains(id),
  await store.endpoints(id),
  (await store.emails(id, MAIL)).rows,
  (await store.suppressions(id, null, PAGE)).rows,
  (await store.logs(id, { ...MAIL, method: null })).rows,
  await store.operators(),
  (await store.queueCounts(null, 9)).largest,
];

for (const [about, cases] of [
  ['accounts', ACCOUNTS],
  ['what accounts own', OWNED],
  ['messages', MESSAGES],
] as const) {
  eachStore(`what is no id is none of ${about}`, async (store, account) => {
    await furnish(store, account);
    const before = await seenOf(store, account);
    const answers: [verb: string, answer: unknown][] = [];
    for (const [verb, , ask] of cases) {
      const answer = await ask(store, account.id).catch((error: unknown) => String(error));
      answers.push([verb, answer]);
    }
    expect(answers).toEqual(cases.map(([verb, answer]) => [verb, answer]));
    expect(await seenOf(store, account)).toEqual(before);
  });
}
