/** An account with a row of every kind, for tests of what becomes of them. */
import type { Account } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { newId } from '../rig/ids.ts';
import {
  accepted,
  batchOf,
  finishOf,
  newDomain,
  newEndpoint,
  newEvent,
  newLogRecord,
  newMessage,
  newSuppression,
} from './samples.ts';
import { everyCallDue } from './due-calls.ts';

/** Gives the account a row of every kind; one of its messages waits, another is delivered with a call that was posted. */
export async function furnish(store: Store, { id: accountId }: Account): Promise<NewMessage[]> {
  const now = Date.now();
  const endpoint = newEndpoint(accountId);
  await store.createEndpoint(endpoint, 10);
  const domain = newDomain(accountId, 'acme.example');
  await store.createDomain(domain, 10);
  await store.addNextDkimKey(domain.id, {
    selector: 'pr2',
    dkimPublicKey: 'BBBB',
    sealedDkimKey: Buffer.of(1),
    since: now,
  });
  const key = {
    id: newId(now),
    accountId,
    name: 'ci',
    permission: 'full_access',
    isTest: false,
    prefix: 're_x',
    last4: 'abcd',
    lastUsedAt: null,
    revokedAt: null,
    createdAt: now,
  } as const;
  await store.createKey(key, Buffer.from(newId(now)), 10);
  const operator = {
    id: newId(now),
    name: `of ${accountId}`,
    role: 'read_only',
    accountId,
  } as const;
  await store.createOperator(
    {
      ...operator,
      passwordHash: 'h',
      createdAt: now,
      sealedTotp: null,
      recoveryCodes: 0,
      signedInAt: null,
    },
    10,
  );
  await store.addSuppression(newSuppression(accountId, 'gone@x.example'));
  await store.addConfirmedRecipient(accountId, 'yes@x.example', now);
  await store.setSetting(`brake:${accountId}`, '{}');
  await store.appendLogs([newLogRecord(accountId), newLogRecord(accountId)]);
  const waits = newMessage(accountId);
  await store.accept({
    ...batchOf(accountId, waits),
    usage: { count: 1, day: '2026-01-01', dailyLimit: null, monthlyLimit: null },
    idempotency: {
      key: 'k',
      route: 'POST /emails',
      bodyHash: 'h',
      status: 200,
      response: '{}',
      createdAt: now,
      expiresAt: now + 1e9,
    },
  });
  const done = await accepted(store, newMessage(accountId));
  for (const recipient of done.recipients) {
    const events = [newEvent(done.message, recipient.id, 'email.delivered')];
    await store.finish(finishOf(done, recipient, { events }));
  }
  const due = await everyCallDue(store, now, now + 1e9);
  const lease = { owner: 'me', leaseUntil: now + 60_000, nextAttemptAt: now + 30_000 };
  const mine = due.filter(({ endpointId }) => endpointId === endpoint.id);
  for (const call of await store.beginCalls(
    mine.map(({ id }) => ({ id, ...lease })),
    now,
  )) {
    const attempt = {
      id: newId(now),
      callId: call.id,
      endpointId: call.endpointId,
      eventType: call.eventType,
      messageId: call.messageId,
      attempt: 1,
      statusCode: 200,
      ok: true,
      error: null,
      durationMs: 5,
      createdAt: now,
    };
    await store.finishCall({
      call,
      attempt,
      status: 'done',
      nextAttemptAt: null,
      response: 'thanks',
      disableAfter: 20,
    });
  }
  return [waits, done];
}
