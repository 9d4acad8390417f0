/** Erasing a person: what goes, and what stays for others. */
import { expect } from 'bun:test';

import { LOWER, PERSON, sent } from './person.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newLogRecord,
  newMessage,
  newSuppression,
  recipientOf,
} from './samples.ts';
import { eachStore } from './stores.ts';

eachStore(
  'emails, events, attempts and log rows of one address go, in every spelling',
  async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const alone = await sent(store, account.id, [PERSON]);
    const shared = await sent(store, account.id, [PERSON, 'b@x.example']);
    const waiting = await sent(store, account.id, [PERSON], false);
    const foreign = await sent(store, other.id, [PERSON]);
    const unrelated = await sent(store, account.id, [`x${PERSON}`]);
    await store.addSuppression({
      ...newSuppression(account.id, LOWER),
      reason: 'unsubscribe',
      note: 'asked by telephone',
    });
    await store.appendLogs([
      newLogRecord(account.id, { path: `/suppressions/${encodeURIComponent(PERSON)}` }),
      newLogRecord(account.id, { requestBody: JSON.stringify({ to: PERSON }) }),
      newLogRecord(other.id, { requestBody: JSON.stringify({ to: PERSON }) }),
      newLogRecord(account.id, {}),
    ]);

    expect(await store.eraseAddress(LOWER, account.id)).toEqual({
      messages: 1,
      shared: 1,
      waiting: 1,
      log_rows: 2,
      confirmed: 0,
      suppressions_kept: 1,
    });
    expect(await store.messageById(alone.message.id)).toBeNull();
    expect(await store.messageById(shared.message.id)).toMatchObject({
      to: ['b@x.example'],
      subject: '[erased]',
    });
    expect((await store.recipients(shared.message.id)).map(({ address }) => address)).toEqual([
      'b@x.example',
    ]);
    expect(await store.body(account.id, shared.message.id)).toEqual({ body: null });
    expect(await store.messageForDelivery(waiting.message.id)).not.toBeNull();
    expect((await store.recipients(unrelated.message.id)).length).toBe(1);
    expect(await store.messageById(foreign.message.id)).not.toBeNull();
    // An unsubscribe must still be honoured.
    expect(await store.suppression(account.id, LOWER)).toMatchObject({
      reason: 'unsubscribe',
      note: null,
    });

    // What is no account is not all of them.
    for (const nobody of ['no id', newAccount('nobody').id])
      expect(await store.eraseAddress(LOWER, nobody)).toEqual({
        messages: 0,
        shared: 0,
        waiting: 0,
        log_rows: 0,
        confirmed: 0,
        suppressions_kept: 0,
      });
    expect(await store.messageById(foreign.message.id)).not.toBeNull();

    const [recipient] = waiting.recipients;
    if (recipient === undefined) throw new Error('no recipient');
    await store.finish(finishOf(waiting, recipient, { events: [] }));
    const rest = await store.eraseAddress(LOWER, null);
    expect(rest).toMatchObject({ messages: 2, shared: 0, waiting: 0, log_rows: 1 });
    expect(await store.eraseAddress(LOWER, null)).toMatchObject({ messages: 0, log_rows: 0 });
  },
);

eachStore('more emails of one address go than one step takes', async (store, account) => {
  for (let n = 0; n < 101; n += 1) await sent(store, account.id, [PERSON]);
  // The newest of all would keep its row.
  await sent(store, account.id, ['b@x.example']);
  expect(await store.eraseAddress(LOWER, account.id)).toMatchObject({ messages: 101, shared: 0 });
});

eachStore(
  'emails that wait are each counted once, however many there are',
  async (store, account) => {
    const messages = Array.from({ length: 230 }, (_, at) =>
      newMessage(account.id, {}, at % 23 === 0 ? [PERSON, `${at}@x.example`] : [PERSON]),
    );
    await store.accept(batchOf(account.id, ...messages));
    // One of those behind the first step waits no more.
    const done = messages[180];
    if (done === undefined) throw new Error('no message');
    await store.finish(finishOf(done, recipientOf(done), { events: [] }));
    expect(await store.eraseAddress(LOWER, account.id)).toMatchObject({
      messages: 1,
      shared: 0,
      waiting: 229,
    });
  },
);

eachStore('an email that another recipient still waits for stays whole', async (store, account) => {
  const shared = await sent(store, account.id, [PERSON, 'b@x.example'], false);
  const [person] = shared.recipients;
  if (person === undefined) throw new Error('no recipient');
  await store.finish(finishOf(shared, person, { events: [] }));
  const before = await store.body(account.id, shared.message.id);
  expect(await store.eraseAddress(LOWER, account.id)).toMatchObject({ waiting: 1, shared: 0 });
  expect(await store.body(account.id, shared.message.id)).toEqual(before);
  expect(await store.recipients(shared.message.id)).toHaveLength(2);
});
