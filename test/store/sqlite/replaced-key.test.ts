/** A DKIM key that was replaced is gone from the file: it may have been replaced because it leaked. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import { newAccount, newDomain } from '../samples.ts';
import { openTestStore, withDir } from '../test-store.ts';

test('the private key that was replaced is kept nowhere', () =>
  withDir(async (dir) => {
    const store = await openTestStore(dir);
    const account = newAccount('default');
    await store.createAccount(account);
    const old = Uint8Array.from(Buffer.from('the key that leaked'));
    const domain = { ...newDomain(account.id, 'a.example'), sealedDkimKey: old };
    await store.createDomain(domain, 9);
    const sealedDkimKey = Uint8Array.from(Buffer.from('the key that follows'));
    const next = { selector: 's2', dkimPublicKey: 'NEXT', sealedDkimKey, since: 1 };
    await store.addNextDkimKey(domain.id, next);
    expect(await store.activateDkimKey(domain.id, 's2', 7)).toBe(true);
    await store.close();
    const db = new Database(join(dir, 'mail.db'), { readonly: true });
    const rows = db
      .query<{ text: string }, []>(
        'SELECT CAST(sealed_dkim_key AS TEXT) AS text FROM domains UNION ALL SELECT CAST(sealed_dkim_key AS TEXT) FROM dkim_keys',
      )
      .all();
    db.close();
    expect(rows.map(({ text }) => text)).toEqual(['the key that follows', null as never]);
  }));
