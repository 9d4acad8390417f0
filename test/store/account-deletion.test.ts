/** Deleting an account: no byte of it stays in any file, nothing of another account goes, and it can be gone on with. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Account, Domain } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { newId } from '../rig/ids.ts';
import {
  accepted,
  batchOf,
  dueRequest,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newLogRecord,
  newMessage,
  newSuppression,
} from './samples.ts';
import { openTestStore, withDir, withStore } from './test-store.ts';

const PAGE = { limit: 100, after: null, before: null };
const nothing = (): void => undefined;

function newDomain(accountId: string): Domain {
  const now = Date.now();
  return {
    id: newId(now),
    accountId,
    name: 'acme.example',
    status: 'verified',
    selector: 'pr1',
    dkimPublicKey: 'AAAA',
    sealedDkimKey: Buffer.of(0),
    recordStates: {},
    createdAt: now,
    verifiedAt: now,
    lastCheckedAt: now,
    nextCheckAt: null,
    failingSince: null,
    pendingSince: now,
    deletedAt: null,
  };
}

/** Gives the account a row of every kind; one of its messages waits, another is delivered with a call that was posted. */
async function furnish(store: Store, { id: accountId }: Account): Promise<NewMessage[]> {
  const now = Date.now();
  const endpoint = newEndpoint(accountId);
  await store.createEndpoint(endpoint, 10);
  const domain = newDomain(accountId);
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
  const due = await store.callsDue(now, now + 1e9, 100, []);
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

/** Files of the data directory in which the id stands; every row of an account has its id. */
function filesWith(dir: string, id: string): string[] {
  return readdirSync(dir).filter((name) => readFileSync(join(dir, name)).includes(id));
}

/** What an account has, by every list that there is. */
async function everythingOf(store: Store, { id }: Account): Promise<unknown> {
  const emails = await store.emails(id, { ...PAGE, q: null, status: null });
  return {
    emails: emails.rows.map((row) => row.id),
    suppressions: (await store.suppressions(id, null, PAGE)).rows.map(({ email }) => email),
    endpoints: (await store.endpoints(id)).map((row) => row.id),
    domains: (await store.domains(id)).map((row) => row.id),
    keys: (await store.keys(id)).map((row) => row.id),
    operators: (await store.operators()).filter((row) => row.accountId === id).map((row) => row.id),
    bytes: await store.storedBytes(id),
    logs: (await store.logs(id, { ...PAGE, q: null, method: null, status: null })).rows.length,
  };
}

test('everything of it goes, out of the raw files too, and nothing of another', () =>
  withStore(async (store, other, dir) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    await furnish(store, other);
    const messages = await furnish(store, account);
    const before = await everythingOf(store, other);
    expect(filesWith(dir, account.id).length).toBeGreaterThan(0);

    expect(await store.closeAccount(account.id, 'It is being deleted.')).toBe(1);
    expect(await store.account(account.id)).toMatchObject({ status: 'paused' });
    expect((await store.operators()).map((row) => row.accountId)).toEqual([other.id]);
    const settings = [`brake:${account.id}`];
    expect(await store.removeAccount(account.id, settings, nothing)).toEqual({
      messages: 2,
      log_rows: 2,
      suppressions: 1,
      confirmed: 1,
      domains: 1,
      webhooks: 1,
    });
    expect(await store.account(account.id)).toBeNull();
    expect(await store.messageById(messages[0]?.message.id ?? '')).toBeNull();
    expect(await everythingOf(store, other)).toEqual(before);

    // What was under way comes too late, and writes nothing.
    const [waits] = messages;
    const [recipient] = waits?.recipients ?? [];
    if (waits === undefined || recipient === undefined) throw new Error('no message');
    expect((await store.finish(finishOf(waits, recipient))).calls).toEqual([]);
    await store.appendLogs([newLogRecord(account.id), newLogRecord(other.id)]);

    await store.scrub();
    await store.setSetting('x', 'y');
    await store.appendLogs([newLogRecord(other.id)]);
    expect(filesWith(dir, account.id)).toEqual([]);
    expect(filesWith(dir, other.id).length).toBeGreaterThan(0);
  }));

test('what is added between its two parts goes too: whoever is late keeps no account from ending', () =>
  withStore(async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    await store.closeAccount(account.id, 'It is being deleted.');
    await furnish(store, account);
    await store.removeAccount(account.id, [`brake:${account.id}`], nothing);
    expect(await store.account(account.id)).toBeNull();
    expect(await store.operators()).toEqual([]);
  }));

test('mail that waits is due no more from the first step on', () =>
  withStore(async (store, other) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    for (let at = 0; at < 5; at += 1) {
      await accepted(store, newMessage(account.id));
      await accepted(store, newMessage(other.id));
    }
    await store.closeAccount(account.id, 'It is being deleted.');
    const steps: number[] = [];
    const watched = store.removeAccount(account.id, [], (messages) => {
      steps.push(messages);
    });
    await watched;
    const { ours } = await store.takeDue(dueRequest('me', Date.now() + 1e9));
    expect(ours.map(({ accountId }) => accountId)).toEqual(
      Array.from({ length: 5 }, () => other.id),
    );
    expect(steps).toEqual([5]);
  }));

test('what was cut off in the middle is gone on with', () =>
  withStore(async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    for (let at = 0; at < 120; at += 1) await accepted(store, newMessage(account.id));
    await store.closeAccount(account.id, 'It is being deleted.');
    const cut = store.removeAccount(account.id, [], () => {
      throw new Error('the process ends');
    });
    expect(await cut.catch((error: unknown) => String(error))).toContain('the process ends');
    const { ours } = await store.takeDue(dueRequest('me', Date.now() + 1e9));
    expect(ours).toEqual([]);
    expect(await store.account(account.id)).toMatchObject({
      status: 'paused',
      statusReason: 'It is being deleted.',
    });
    await store.closeAccount(account.id, 'It is being deleted.');
    const rest = await store.removeAccount(account.id, [], nothing);
    expect(rest.messages).toBe(70);
    expect(await store.account(account.id)).toBeNull();
  }));

test('the next email is found, also when the newest of all went, and after a restart', () =>
  withDir(async (dir) => {
    const search = async (store: Store, accountId: string, q = 'Violin'): Promise<string[]> => {
      const filter = { ...PAGE, q, status: null };
      return (await store.emails(accountId, filter)).rows.map(({ id }) => id);
    };
    const [kept, doomed] = [newAccount('kept'), newAccount('doomed')];
    let store = await openTestStore(dir);
    for (const account of [kept, doomed]) await store.createAccount(account);
    const first = await accepted(store, newMessage(kept.id, { subject: 'Violin one' }));
    await accepted(store, newMessage(doomed.id, { subject: 'Trumpet two' }));
    // The index has seen the newest message.
    while ((await search(store, doomed.id, 'Trumpet')).length === 0) await Bun.sleep(5);
    await store.closeAccount(doomed.id, 'It is being deleted.');
    await store.removeAccount(doomed.id, [], nothing);
    const next = await accepted(store, newMessage(kept.id, { subject: 'Violin three' }));
    const expected = [next.message.id, first.message.id];
    while ((await search(store, kept.id)).length < 2) await Bun.sleep(5);
    expect(await search(store, kept.id)).toEqual(expected);
    await store.close();
    store = await openTestStore(dir);
    while ((await search(store, kept.id)).length < 2) await Bun.sleep(5);
    expect(await search(store, kept.id)).toEqual(expected);
    await store.close();
  }));
