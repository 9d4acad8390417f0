/** Which slots each kind of transaction writes into: another one, so that none waits for the sums of another. */
import { expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { slotOf } from '../../../src/store/postgres/sum-slots.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import {
  accepted,
  finishOf,
  newAccount,
  newEvent,
  newMessage,
  newSuppression,
  recipientOf,
} from '../samples.ts';

test('acceptances, beginnings of sending and ends of a session have theirs, everything else that of no session', async () => {
  const url = await (await testServer()).freshDatabase();
  const now = Date.now();
  const store = await openPostgres({ url, passwordFile: '', now });
  const reader = new Database(databaseAddress(url, ''));
  const slots = async (table: string): Promise<number[]> => {
    const text = `SELECT DISTINCT slot FROM ${table} ORDER BY slot`;
    return (await reader.all<{ slot: number }>(part(text))).map(({ slot }) => slot);
  };
  // Its number is 1 while the one of the node before it lives.
  const other = await openPostgres({ url, passwordFile: '', now });
  for (const [at, each] of [other, store].entries()) {
    const node = { name: `n${at}`, directory: `d${at}`, addresses: [], version: '1.0.0' };
    await each.nodes.begin({ ...node, id: newId(now).slice(0, -4) + '0005' });
  }
  const of = (kind: Parameters<typeof slotOf>[0]): number => slotOf(kind, 1, 5);
  const account = newAccount('default');
  await store.createAccount(account);
  const sent = await accepted(store, newMessage(account.id, { createdAt: now - 1_000 }));
  expect([await slots('status_days'), await slots('stored_bytes')]).toEqual([
    [of('accept')],
    [of('accept')],
  ]);
  const recipient = recipientOf(sent);
  const { id: messageId, accountId } = sent.message;
  const event = newEvent(sent.message, recipient.id, 'email.sent');
  await store.noteSent([
    { recipientId: recipient.id, messageId, accountId, now, dueAt: now, event },
  ]);
  expect(await slots('status_days')).toEqual([of('sent'), of('accept')]);
  const harm = { reason: 'hard_bounce', source: messageId } as const;
  await store.finish(
    finishOf(sent, recipient, {
      status: 'bounced',
      events: [newEvent(sent.message, recipient.id, 'email.bounced')],
      suppress: newSuppression(accountId, recipient.address, harm),
    }),
  );
  expect(await slots('status_days')).toEqual([of('sent'), of('finish'), of('accept')]);
  expect([await slots('outcome_hours'), await slots('harm_hours')]).toEqual([
    [of('finish')],
    [of('finish')],
  ]);
  // Rare, and by whoever does it.
  const none = slotOf('other', 0, null);
  await store.addSuppression(newSuppression(accountId, 'ben@example.org', harm));
  expect(await slots('harm_hours')).toEqual([of('finish'), none]);
  expect(await store.purgeBodies(Date.now() + 1_000)).toBe(1);
  expect(await slots('stored_bytes')).toEqual([of('accept'), none]);
  await Promise.all([store.close(), other.close(), reader.close()]);
});
