/** A search of the suppression list by the index, beside other reasons, another account and removed rows. */
import { expect, test } from 'bun:test';

import { Indexer } from '../../../src/store/sqlite/indexer.ts';
import { newAccount, newSuppression } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

test('finds the addresses of one reason in both directions, and of all', () =>
  withDir(async (dir) => {
    const [account, other] = [newAccount('one'), newAccount('two')];
    const before = await openTestStore(dir);
    for (const row of [account, other]) await before.createAccount(row);
    const emails: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      const email = `person${n}@example.org`;
      const reason = n % 3 === 0 ? 'complaint' : 'hard_bounce';
      await before.addSuppression(newSuppression(account.id, email, { reason }));
      await before.addSuppression(newSuppression(other.id, email, { reason }));
      emails.push(email);
    }
    await before.removeSuppression(account.id, 'person6@example.org', 1);
    // With so many rows an account is no rare mark any more: the index is asked for the rarer word alone.
    for (const { id } of [account, other]) {
      const rows = Array.from({ length: 70 }, (_, n) => newSuppression(id, `crowd${n}@b.example`));
      await before.addSuppressions(rows);
      const reason = id === account.id ? 'hard_bounce' : 'complaint';
      await before.addSuppression(newSuppression(id, `zebra.${reason}@b.example`, { reason }));
    }
    await before.close();
    const indexer = new Indexer(dir, 0);
    while (indexer.step());
    indexer.close();

    const store = await openTestStore(dir);
    const all = emails.filter((_, n) => n !== 6).toReversed();
    const complaints = all.filter((email) => emails.indexOf(email) % 3 === 0);
    const find = async (
      reason: 'complaint' | undefined,
      limit: number,
      { q = 'person', ...ends }: { q?: string; after?: string; before?: string } = {},
    ): Promise<string[]> => {
      const page = { limit, after: null, before: null, ...ends };
      const { rows } = await store.suppressions(account.id, q, page, reason);
      return rows.map(({ email }) => email);
    };
    expect(await find(undefined, 100)).toEqual(all);
    expect(await find('complaint', 100)).toEqual(complaints);
    const cursor = complaints[4] ?? '';
    expect(await find('complaint', 2, { after: cursor })).toEqual(complaints.slice(5, 7));
    expect(await find('complaint', 2, { before: cursor })).toEqual(complaints.slice(2, 4));
    const q = 'Zebra';
    expect(await find(undefined, 9, { q })).toEqual(['zebra.hard_bounce@b.example']);
    expect(await find('complaint', 9, { q })).toEqual([]);
    await store.close();
  }));
