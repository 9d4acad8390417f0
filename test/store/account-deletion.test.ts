/** Deleting an account: everything of it goes, nothing of another account does, and it can be gone on with. */
import { expect } from 'bun:test';

import type { Account } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { beginAll, finished, happen } from './call-steps.ts';
import { furnish } from './furnished-account.ts';
import {
  accepted,
  batchOf,
  dueRequest,
  finishOf,
  newAccount,
  newEndpoint,
  newLogRecord,
  newMessage,
} from './samples.ts';
import { eachStorage, eachStore } from './stores.ts';

const PAGE = { limit: 100, after: null, before: null };
const nothing = (): void => undefined;

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

eachStore('everything of it goes, and nothing of another', async (store, other) => {
  const account = newAccount('doomed');
  await store.createAccount(account);
  await furnish(store, other);
  const messages = await furnish(store, account);
  const before = await everythingOf(store, other);

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
  await store.appendLogs([newLogRecord(account.id)]);
  expect(await everythingOf(store, account)).toMatchObject({ emails: [], bytes: 0, logs: 0 });
});

eachStore(
  'what is added between its two parts goes too: whoever is late keeps no account from ending',
  async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    await store.closeAccount(account.id, 'It is being deleted.');
    await furnish(store, account);
    await store.removeAccount(account.id, [`brake:${account.id}`], nothing);
    expect(await store.account(account.id)).toBeNull();
    expect(await store.operators()).toEqual([]);
  },
);

eachStore(
  'what is logged late of an account that never logged anything is not kept',
  async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    await store.closeAccount(account.id, 'It is being deleted.');
    await store.removeAccount(account.id, [], nothing);
    await store.appendLogs([newLogRecord(account.id)]);
    expect(await everythingOf(store, account)).toMatchObject({ logs: 0 });
  },
);

eachStore('mail that waits is due no more from the first step on', async (store, other) => {
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
  expect(ours.map(({ accountId }) => accountId)).toEqual(Array.from({ length: 5 }, () => other.id));
  expect(steps).toEqual([5]);
});

eachStore('what is told of a long removal is how many messages went until then', async (store) => {
  const account = newAccount('doomed');
  await store.createAccount(account);
  const messages = Array.from({ length: 120 }, () => newMessage(account.id));
  await store.accept(batchOf(account.id, ...messages));
  const told: number[] = [];
  const gone = await store.removeAccount(account.id, [], (count) => told.push(count));
  expect(gone).toMatchObject({ messages: 120, log_rows: 0, suppressions: 0, confirmed: 0 });
  expect(told.length).toBeGreaterThan(1);
  expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b));
  expect(told.at(-1)).toBe(120);
});

eachStore('what was cut off in the middle is gone on with', async (store) => {
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
});

eachStorage(
  'the next email is found, also when the newest of all went, and opened anew',
  async (storage) => {
    const search = async (store: Store, accountId: string, q = 'Violin'): Promise<string[]> => {
      const filter = { ...PAGE, q, status: null };
      return (await store.emails(accountId, filter)).rows.map(({ id }) => id);
    };
    const [kept, doomed] = [newAccount('kept'), newAccount('doomed')];
    let store = await storage.open();
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
    store = await storage.open();
    while ((await search(store, kept.id)).length < 2) await Bun.sleep(5);
    expect(await search(store, kept.id)).toEqual(expected);
    await store.close();
  },
);

eachStore(
  'a call that was under way ends as one of a disabled endpoint, and leaves nothing',
  async (store) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    const endpoint = newEndpoint(account.id);
    await store.createEndpoint(endpoint, 1);
    await happen(store, account);
    const [call] = await beginAll(store);
    if (call === undefined) throw new Error('no call');
    await store.closeAccount(account.id, 'gone');
    await store.removeAccount(account.id, [], nothing);
    for (const ok of [true, false]) {
      expect(await store.finishCall(finished(call, ok))).toEqual({
        endpointStatus: 'disabled',
        isOvertaken: false,
      });
    }
    expect((await store.callAttempts(endpoint.id, PAGE)).rows).toEqual([]);
  },
);
