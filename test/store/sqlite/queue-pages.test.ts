/** The queue as an operator reads it: in pages, of one destination or of all, and only what waits. */
import { expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import { queueReads } from '../../../src/store/sqlite/read-queue.ts';
import { batchOf, newAccount, newMessage, recipientOf } from '../samples.ts';
import { writerAtHand } from './writer-at-hand.ts';

test('pages go on behind the recipient that is named, destination by destination', async () => {
  const writer = writerAtHand();
  const account = newAccount('one');
  writer.createAccount(account);
  const ids: Record<string, string[]> = { 'a.example': [], 'b.example': [] };
  for (let n = 0; n < 8; n += 1) {
    const domain = n % 2 === 0 ? 'b.example' : 'a.example';
    const message = newMessage(account.id, {}, [`x@${domain}`]);
    const recipient = recipientOf(message);
    // The last two have ended.
    if (n > 5) recipient.nextAttemptAt = null;
    else ids[domain]?.push(recipient.id);
    writer.accept(batchOf(account.id, message));
  }
  const { queue } = queueReads(writer.mail);
  const pagesOf = async (domain: string | null): Promise<string[][]> => {
    const pages: string[][] = [];
    for (let after: string | null = null; pages.length < 9;) {
      const rows = await queue({ domain, limit: 2, after });
      if (rows.length === 0) break;
      pages.push(rows.map(({ id }) => id));
      after = rows.at(-1)?.id ?? null;
    }
    return pages;
  };
  const [a = [], b = []] = [ids['a.example'], ids['b.example']];
  expect(await pagesOf('b.example')).toEqual([b.slice(0, 2), b.slice(2)]);
  expect(await pagesOf('c.example')).toEqual([]);
  const all = [...a, ...b];
  expect(await pagesOf(null)).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
  writer.close();
});

test('destinations are counted with the oldest of their recipients, the longest line first', async () => {
  const writer = writerAtHand();
  const account = newAccount('one');
  writer.createAccount(account);
  // At each moment one recipient: the oldest of the first destination has ended, the next one waits with a reason.
  for (const [at, domain, due, lastReason] of [
    [1_000, 'a.example', null, '250 ok'],
    [2_000, 'b.example', 9, '450 busy'],
    [3_000, 'a.example', 7, '451 later'],
    [4_000, 'a.example', 5, 'none of the oldest'],
    [5_000, 'c.example', null, '550 no'],
  ] as const) {
    const message = newMessage(account.id, {}, [`x@${domain}`]);
    const id = `${idBound(at)}-7000-8000-000000000000`;
    Object.assign(recipientOf(message), { id, nextAttemptAt: due, lastReason });
    writer.accept(batchOf(account.id, message));
  }
  expect((await queueReads(writer.mail).queueCounts(null, 9)).largest).toEqual([
    { domain: 'a.example', waiting: 2, oldestCreatedAt: 3_000, reason: '451 later' },
    { domain: 'b.example', waiting: 1, oldestCreatedAt: 2_000, reason: '450 busy' },
  ]);
  writer.close();
});
