/** The parts of an account of the busy server: domains, keys, endpoints with calls, suppressions, requests, audit rows. */
import { endpointLabel } from '../../src/flow/seal-labels.ts';
import type { CallAttempt, Endpoint } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import {
  batchOf,
  newDomain,
  newEndpoint,
  newKey,
  newLogRecord,
  newMessage,
  newSuppression,
} from '../store/samples.ts';
import { idAt } from './busy-ids.ts';
import type { DashboardRig } from './dashboard-rig.ts';
import { everyCallDue } from '../store/due-calls.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export async function furnishAccount(
  { rig }: DashboardRig,
  named: Map<string, string>,
  now: number,
): Promise<void> {
  const { store, secrets } = rig.appliance.ctx;
  await domains(store, rig.account, named, now);
  await keys(store, rig.account, named, now);
  const id = idAt(now);
  await endpoint(store, named, now, {
    ...newEndpoint(rig.account),
    id,
    url: 'https://hook.example/busy?a=<b>',
    events: ['email.sent', 'email.bounced'],
    status: 'active',
    sealedSecret: secrets.seal('whsec_c2VjcmV0', endpointLabel(id)),
    createdAt: now - DAY_MS,
  });
  await suppressions(store, rig.account, named, now);
  await requests(store, rig.account, named, now);
  await usage(store, named.get('second') ?? '', now);
  for (const [minutes, accountId] of [rig.account, 'gone', null].entries()) {
    await store.addAudit({
      at: now - minutes * 60_000,
      via: accountId === null ? 'command' : 'api',
      who: accountId === null ? 'root' : 'shop <1>',
      action: 'suppressions.add',
      target: 'ann@x.example',
      accountId,
      address: accountId === null ? null : '203.0.113.7',
    });
  }
}

/** A domain in each state: one waits, one lost a record, one failed, one changes its key. */
async function domains(
  store: Store,
  accountId: string,
  named: Map<string, string>,
  now: number,
): Promise<void> {
  const dkim = (problem: string | null, values: string[]) => ({
    DKIM: { at: 'pr1._domainkey', values, problem },
    SPF: { at: 'send', values: ['v=spf1 -all'], problem: 'it <does> not name this server' },
    DMARC: { at: '_dmarc', values: ['v=DMARC1; p=none'], problem: null },
  });
  for (const [name, status, seen, failingSince] of [
    ['waits.example', 'pending', dkim('nothing is published', []), null],
    ['lost.example', 'verified', dkim('another key is published', ['p=AAAA']), now - HOUR_MS],
    ['failed.example', 'failed', dkim(null, ['v=DKIM1; p=BBBB']), now - 4 * DAY_MS],
  ] as const) {
    const createdAt = now - 5 * DAY_MS;
    const domain = { ...newDomain(accountId, name), id: idAt(createdAt), createdAt };
    await store.createDomain(domain, 10);
    named.set(status === 'verified' ? 'lost' : status, domain.id);
    await store.finishDomainCheck({
      id: domain.id,
      now: now - 60_000,
      status,
      recordStates: { DKIM: 'not_started', SPF: 'not_started' },
      verifiedAt: status === 'verified' ? now - 3 * DAY_MS : null,
      nextCheckAt: now + HOUR_MS,
      failingSince,
      pendingSince: now - DAY_MS,
      seen,
    });
    await store.addNextDkimKey(domain.id, {
      selector: 'pr2',
      dkimPublicKey: 'CCCC',
      sealedDkimKey: Buffer.of(1),
      since: now,
    });
    if (status === 'pending') continue;
    // A week later the record of the key before may go.
    const since = now - (status === 'failed' ? 7 : 6) * DAY_MS;
    await store.activateDkimKey(domain.id, 'pr2', since);
  }
}

async function keys(
  store: Store,
  accountId: string,
  named: Map<string, string>,
  now: number,
): Promise<void> {
  const made = { createdAt: now - DAY_MS, prefix: 'pr_live_abcd', isTest: false } as const;
  for (const change of [
    { name: 'shop <1>', permission: 'full_access', lastUsedAt: now - HOUR_MS },
    { name: 'old', revokedAt: now - 60_000 },
    { name: 'tests', isTest: true, prefix: 'pr_test_abcd' },
  ] as const) {
    const key = { ...newKey(accountId), id: idAt(made.createdAt), ...made, ...change };
    named.set(change.name === 'shop <1>' ? 'shop' : change.name, key.id);
    await store.createKey(key, Buffer.from(key.id), 10);
  }
}

/** With a call that was acknowledged, one that failed for good, and one that is tried again; then it is disabled. */
async function endpoint(
  store: Store,
  named: Map<string, string>,
  now: number,
  row: Endpoint,
): Promise<void> {
  const { id: endpointId, accountId } = row;
  await store.createEndpoint(row, 10);
  named.set('endpoint', endpointId);
  const at = now - 2 * HOUR_MS;
  const id = idAt(at);
  const made = newMessage(accountId, { id, createdAt: at, updatedAt: at, subject: 'Told' }, [
    'told@end.example',
  ]);
  const [queued, recipient] = [made.events[0], made.recipients[0]];
  if (queued === undefined || recipient === undefined) throw new Error('nothing was made');
  Object.assign(recipient, {
    nextAttemptAt: null,
    status: 'delivered',
    attempts: 1,
    updatedAt: at,
  });
  made.events = [0, 1, 2].map((number) => ({
    ...queued,
    id: idAt(at),
    type: number === 1 ? 'email.bounced' : 'email.sent',
    occurredAt: at + number,
    webhookBody: JSON.stringify({ type: 'email.sent', number }),
  }));
  await store.accept({ ...batchOf(accountId, made), now: at });
  named.set('told', made.message.id);
  const lease = { owner: 'me', leaseUntil: at + 60_000, nextAttemptAt: at + 30_000 };
  const due = (await everyCallDue(store, now)).map(({ id }) => ({ id, ...lease }));
  const calls = await store.beginCalls(due, at);
  for (const [number, call] of calls.entries()) {
    const isOk = number === 0;
    const attempt: CallAttempt = {
      id: idAt(at),
      callId: call.id,
      endpointId,
      eventType: call.eventType,
      messageId: call.messageId,
      attempt: call.attempts,
      statusCode: isOk ? 204 : number === 1 ? 503 : null,
      ok: isOk,
      error: isOk ? null : number === 1 ? 'answered with status 503' : 'timed <out>',
      durationMs: number === 2 ? null : 40 + number,
      createdAt: at + number * 1_000,
    };
    named.set(['done', 'failedcall', 'open'][number] ?? '', attempt.id);
    await store.finishCall({
      call,
      attempt,
      status: (['done', 'failed', 'open'] as const)[number] ?? 'open',
      nextAttemptAt: number === 2 ? now + HOUR_MS : null,
      response: number === 1 ? 'Busy, <later>' : null,
      disableAfter: 2,
    });
  }
}

async function suppressions(
  store: Store,
  accountId: string,
  named: Map<string, string>,
  now: number,
): Promise<void> {
  for (const [number, reason] of (
    ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const
  ).entries()) {
    const source = ['told', null, 'link', 'operator'][number] ?? null;
    await store.addSuppression(
      newSuppression(accountId, `${reason}@x.example`, {
        reason,
        source: source === 'told' ? (named.get(source) ?? null) : source,
        note: reason === 'manual' ? 'asked <us>' : null,
        id: idAt(now - number * 60_000),
        createdAt: now - number * 60_000,
      }),
    );
  }
}

async function requests(
  store: Store,
  accountId: string,
  named: Map<string, string>,
  now: number,
): Promise<void> {
  const rows = [
    { status: 399, method: 'PATCH', path: '/webhooks/<1>', durationMs: null, keyName: null },
    { status: 422, requestBody: '{"to":1}', responseBody: 'cut {"message', ip: null },
    { status: 500, method: 'DELETE', path: '/domains/x', requestBody: null, userAgent: null },
    { status: 200, messageId: named.get('told') ?? null, keyId: named.get('shop') ?? null },
  ].map((change, number) => {
    const createdAt = now - (4 - number) * 60_000;
    return newLogRecord(accountId, { id: idAt(createdAt), ...change, createdAt });
  });
  await store.appendLogs(rows);
  for (const [number, { id }] of rows.entries()) named.set(`log${'abcd'[number] ?? ''}`, id);
}

/** Eight of ten today, more than a hundred this month. */
async function usage(store: Store, accountId: string, now: number): Promise<void> {
  for (const [days, count] of [
    [0, 8],
    [1, 95],
    [29, 20],
    [30, 40],
  ] as const) {
    const day = new Date(now - days * DAY_MS).toISOString().slice(0, 10);
    const at = now - days * DAY_MS;
    const times = { createdAt: at, updatedAt: at };
    const made = newMessage(accountId, { id: idAt(at), ...times }, ['x@used.example']);
    for (const one of made.recipients) {
      Object.assign(one, { id: idAt(at), nextAttemptAt: null, status: 'delivered', updatedAt: at });
    }
    for (const event of made.events) Object.assign(event, { id: idAt(at), occurredAt: at });
    const limits = { dailyLimit: null, monthlyLimit: null };
    await store.accept({ ...batchOf(accountId, made), now: at, usage: { count, day, ...limits } });
  }
}
