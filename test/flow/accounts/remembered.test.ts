/** What a request reads of its key while that or its account is being changed is not kept for the next one. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { changeAccount, setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { authenticate, createKey, renameKey, revokeKey } from '../../../src/flow/accounts/keys.ts';
import type { Context } from '../../../src/flow/context.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[[plans]]\nid = "gold"\n' });
});
afterEach(() => fixture.close());

type Verb = 'revokeKey' | 'renameKey' | 'setAccountStatus' | 'changeAccount';
type Change = (ctx: Context, accountId: string, keyId: string) => Promise<unknown>;

test.each<[Verb, Change, unknown]>([
  ['revokeKey', (ctx, accountId, keyId) => revokeKey(ctx, accountId, keyId), undefined],
  [
    'renameKey',
    (ctx, accountId, keyId) => renameKey(ctx, accountId, keyId, 'new'),
    ['new', 'acme', 'active', 'unlimited'],
  ],
  [
    'setAccountStatus',
    (ctx, accountId) => setAccountStatus(ctx, accountId, 'paused', 'Bounces.'),
    ['k', 'acme', 'paused', 'unlimited'],
  ],
  [
    'changeAccount',
    (ctx, accountId) => changeAccount(ctx, accountId, { name: 'other', plan: 'gold' }),
    ['k', 'other', 'active', 'gold'],
  ],
])('%s', async (verb, change, expected) => {
  const { ctx } = fixture;
  const { account } = await fixture.sender();
  const input = { name: 'k', permission: 'full_access' } as const;
  const { key, token } = await createKey(ctx, account.id, input);
  const known = async (): Promise<unknown> => {
    const found = await authenticate(ctx, token);
    return found === null
      ? undefined
      : [found.key.name, found.account.name, found.account.status, found.plan.id];
  };
  const commit = ctx.store[verb] as (...args: unknown[]) => Promise<unknown>;
  const seen: unknown[] = [];
  const store = {
    ...ctx.store,
    async [verb](...args: unknown[]) {
      seen.push(await known());
      return await commit(...args);
    },
  };
  const full = { ...store, [verb]: () => Promise.reject(new Error('disk full')) };
  const failed = change({ ...ctx, store: full }, account.id, key.id);
  expect([await failed.catch(String), fixture.logged]).toEqual(['Error: disk full', []]);
  await change({ ...ctx, store }, account.id, key.id);
  expect([seen, await known()]).toEqual([[['k', 'acme', 'active', 'unlimited']], expected]);
});
