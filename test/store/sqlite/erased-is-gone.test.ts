/** Erased is gone: no raw file of the data directory names a person, or an account, that was taken out of the store. */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { furnish } from '../furnished-account.ts';
import { LOWER, PERSON, sent } from '../person.ts';
import { finishOf, newAccount, newLogRecord, newSuppression, recipientOf } from '../samples.ts';
import { withStore } from '../test-store.ts';

/** Files of the data directory in which the text stands; every row of an account has its id. */
function filesWith(dir: string, text: string): string[] {
  return readdirSync(dir).filter((name) => readFileSync(join(dir, name)).includes(text));
}

test('an account that was deleted, and what comes too late for it', () =>
  withStore(async (store, other, dir) => {
    const account = newAccount('doomed');
    await store.createAccount(account);
    await furnish(store, other);
    const [waits] = await furnish(store, account);
    if (waits === undefined) throw new Error('no message');
    expect(filesWith(dir, account.id).length).toBeGreaterThan(0);

    await store.closeAccount(account.id, 'It is being deleted.');
    await store.removeAccount(account.id, [`brake:${account.id}`], () => undefined);
    await store.finish(finishOf(waits, recipientOf(waits)));
    await store.appendLogs([newLogRecord(account.id), newLogRecord(other.id)]);

    await store.scrub();
    await store.setSetting('x', 'y');
    await store.appendLogs([newLogRecord(other.id)]);
    expect(filesWith(dir, account.id)).toEqual([]);
    expect(filesWith(dir, other.id).length).toBeGreaterThan(0);
  }));

test('a person, in emails, events, attempts and log rows', () =>
  withStore(async (store, account, dir) => {
    await sent(store, account.id, [PERSON]);
    await sent(store, account.id, [PERSON, 'b@x.example']);
    const waiting = await sent(store, account.id, [PERSON], false);
    await sent(store, account.id, [`x${PERSON}`]);
    await store.addSuppression(newSuppression(account.id, LOWER, { note: `${PERSON} asked` }));
    await store.appendLogs([
      newLogRecord(account.id, { requestBody: JSON.stringify({ to: PERSON }) }),
    ]);
    await store.eraseAddress(LOWER, account.id);
    await store.finish(finishOf(waiting, recipientOf(waiting), { events: [] }));
    await store.eraseAddress(LOWER, null);

    await store.scrub();
    await store.setSetting('x', 'y');
    await store.appendLogs([newLogRecord(account.id)]);
    for (const name of readdirSync(dir)) {
      const bytes = readFileSync(join(dir, name)).toString('latin1').replaceAll(`x${PERSON}`, '');
      expect([name, bytes.includes(PERSON)]).toEqual([name, false]);
    }
  }));

test('the newest message keeps its row, emptied, so that the next one gets another number', () =>
  withStore(async (store, account) => {
    const last = await sent(store, account.id, [PERSON]);
    expect(await store.eraseAddress(LOWER, null)).toMatchObject({ messages: 0, shared: 1 });
    expect(await store.messageById(last.message.id)).toMatchObject({ to: [], subject: '[erased]' });
    expect(await store.recipients(last.message.id)).toEqual([]);
  }));
