/** What is in the index is found whatever its case and that of the query, by one character, by two, and by more. */
import { expect, test } from 'bun:test';

import { Indexer } from '../../../src/store/sqlite/indexer.ts';
import { accepted, newAccount, newLogRecord, newMessage, newSuppression } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

test('emails, suppressions and requests', () =>
  withDir(async (dir) => {
    const { id, ...rest } = newAccount('one');
    const before = await openTestStore(dir);
    await before.createAccount({ id, ...rest });
    const email = await accepted(before, newMessage(id, { subject: 'QÄ1' }));
    const suppression = newSuppression(id, 'QÄ1@b.example');
    const request = newLogRecord(id, { path: '/QÄ1' });
    await before.addSuppression(suppression);
    await before.appendLogs([request]);
    // With so many rows an account is no rare mark any more: the index is asked for the rarer word alone.
    const crowd = Array.from({ length: 70 }, (_, n) => `crowd${n}`);
    await before.addSuppressions(crowd.map((name) => newSuppression(id, `${name}@b.example`)));
    await before.appendLogs(crowd.map((name) => newLogRecord(id, { path: `/${name}` })));
    await before.close();
    const indexer = new Indexer(dir, 0);
    while (indexer.step());
    indexer.close();

    const store = await openTestStore(dir);
    const page = { limit: 9, after: null, before: null };
    const found: unknown[] = [];
    const queries = ['q', 'Q', 'qä', 'QÄ', 'qä1', 'Qä1'];
    for (const q of queries) {
      const lists = [
        await store.emails(id, { ...page, q, status: null }),
        await store.suppressions(id, q, page),
        await store.logs(id, { ...page, q, status: null, method: null }),
      ];
      found.push([q, ...lists.map(({ rows }) => rows.map((row) => row.id))]);
    }
    await store.close();
    expect(found).toEqual(
      queries.map((q) => [q, [email.message.id], [suppression.id], [request.id]]),
    );
  }));
