/** Keys and accounts against a real store: found by their text, refused the moment they are revoked. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  changeAccount,
  createAccount,
  setAccountStatus,
} from '../../../src/flow/accounts/accounts.ts';
import { authenticate, createKey, renameKey, revokeKey } from '../../../src/flow/accounts/keys.ts';
import { KeyUses } from '../../../src/flow/key-uses.ts';
import type { Account } from '../../../src/store/rows.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let account: Account;

beforeEach(async () => {
  fixture = await openFixture();
  account = await createAccount(fixture.ctx, { name: 'acme' });
});
afterEach(() => fixture.close());

const make = (isTest = false) =>
  createKey(fixture.ctx, account.id, { name: 'k', permission: 'sending_access', isTest });

test('a key shows its kind, its first twelve and last four characters, and is never stored', async () => {
  const { key, token } = await make();
  expect(token).toMatch(/^pr_live_[A-Za-z0-9]{36}$/);
  expect((await make(true)).token).toStartWith('pr_test_');
  expect([key.prefix, key.last4]).toEqual([token.slice(0, 12), token.slice(-4)]);
  await authenticate(fixture.ctx, token);
  await fixture.ctx.keyUses.flush();
  const secret = token.slice(12, -4);
  const files = readdirSync(fixture.dir).map((file) =>
    readFileSync(join(fixture.dir, file), 'latin1'),
  );
  expect(files.some((bytes) => bytes.includes(key.id))).toBe(true);
  expect(files.some((bytes) => bytes.includes(secret))).toBe(false);
});

test.each(['re', 'acme1', 'abcdefghij'])(
  'new keys have the prefix %s of the config, and older ones go on working',
  async (prefix) => {
    const { token: old } = await make();
    const { ctx } = fixture;
    const live = { ...ctx.config.live, api: { ...ctx.config.live.api, keyPrefix: prefix } };
    const config = { ...ctx.config, live };
    for (const isTest of [false, true]) {
      const { key, token } = await createKey({ ...ctx, config }, account.id, {
        name: 'k',
        permission: 'full_access',
        isTest,
      });
      const marker = isTest ? 'test' : 'live';
      expect(token).toMatch(new RegExp(`^${prefix}_${marker}_[A-Za-z0-9]{36}$`));
      expect(key.prefix).toMatch(new RegExp(`^${prefix}_${marker}_[A-Za-z0-9]{4}$`));
      // Also after the prefix was changed again.
      expect((await authenticate(ctx, token))?.key).toMatchObject({ id: key.id, isTest });
    }
    expect(await authenticate({ ...ctx, config }, old)).not.toBeNull();
  },
);

test('all letters of keys are equally likely', async () => {
  const counts = new Map<string, number>();
  for (let n = 0; n < 300; n += 1) {
    const { key, token } = await make();
    for (const letter of token.slice(8)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    await revokeKey(fixture.ctx, account.id, key.id);
  }
  expect(counts.size).toBe(62);
  // 10,800 letters, 174 each on average with a deviation of 13: seven deviations never happen by chance.
  for (const count of counts.values()) expect(Math.abs(count - 174)).toBeLessThan(92);
  // Six hundred commits, on a busy disk.
}, 60_000);

test('finds the account and plan of a key, and nothing for any other text', async () => {
  const { key, token } = await make();
  expect(await authenticate(fixture.ctx, token)).toMatchObject({
    key: { id: key.id },
    account: { id: account.id },
    plan: { id: 'unlimited' },
  });
  for (const wrong of [
    '',
    'pr_live_',
    token.slice(0, -1),
    `${token}x`,
    token.toUpperCase(),
    token.replace('live', 'test'),
    ` ${token}`,
    'a'.repeat(100_000),
  ]) {
    expect(await authenticate(fixture.ctx, wrong)).toBeNull();
  }
});

test('a revoked key is refused at once, also while it is being looked up', async () => {
  const { key, token } = await make();
  expect(await authenticate(fixture.ctx, token)).not.toBeNull();
  const [, ...during] = await Promise.all([
    revokeKey(fixture.ctx, account.id, key.id),
    ...Array.from({ length: 20 }, () => authenticate(fixture.ctx, token)),
  ]);
  expect(during).toHaveLength(20);
  expect(await authenticate(fixture.ctx, token)).toBeNull();
  await revokeKey(fixture.ctx, account.id, key.id);
  const other = await createAccount(fixture.ctx, { name: 'other' });
  const { key: alive } = await make();
  expect((await refusal(revokeKey(fixture.ctx, other.id, alive.id))).code).toBe('not_found');
  expect((await refusal(renameKey(fixture.ctx, other.id, alive.id, 'x'))).code).toBe('not_found');
});

test('a paused account shows in the next authentication', async () => {
  const { token } = await make();
  await authenticate(fixture.ctx, token);
  await setAccountStatus(fixture.ctx, 'acme', 'paused', 'Too many bounces.');
  expect((await authenticate(fixture.ctx, token))?.account).toMatchObject({
    status: 'paused',
    statusReason: 'Too many bounces.',
  });
  await setAccountStatus(fixture.ctx, account.id, 'active', 'ignored');
  expect((await authenticate(fixture.ctx, token))?.account).toMatchObject({
    status: 'active',
    statusReason: null,
  });
});

test('a changed name or plan shows in the next authentication', async () => {
  await fixture.close();
  fixture = await openFixture({ toml: '[[plans]]\nid = "gold"\n' });
  account = await createAccount(fixture.ctx, { name: 'acme' });
  const { token } = await make();
  expect(await authenticate(fixture.ctx, token)).toMatchObject({ plan: { id: 'unlimited' } });
  await changeAccount(fixture.ctx, account.id, { name: 'acme & co', plan: 'gold' });
  expect(await authenticate(fixture.ctx, token)).toMatchObject({
    plan: { id: 'gold' },
    account: { name: 'acme & co', plan: 'gold' },
  });
});

test('the last use is written in batches, the newest time of each key', async () => {
  const { key, token } = await make();
  const before = fixture.clock.now();
  await authenticate(fixture.ctx, token);
  await fixture.clock.advance(4_000);
  await authenticate(fixture.ctx, token);
  expect((await fixture.ctx.store.keys(account.id))[0]?.lastUsedAt).toBeNull();
  await fixture.clock.advance(7_000);
  await fixture.ctx.keyUses.flush();
  expect((await fixture.ctx.store.keys(account.id))[0]).toMatchObject({
    id: key.id,
    lastUsedAt: before + 4_000,
  });
  // What was written is not written again.
  const writes: number[] = [];
  const store = { touchKeys: async (uses: unknown[]) => void writes.push(uses.length) };
  const counted = new KeyUses({ ...fixture.ctx, store });
  counted.note(key.id);
  counted.note(key.id);
  await counted.flush();
  await counted.flush();
  expect(writes).toEqual([1]);
});

test.each(['', ' '.repeat(61), 'a'.repeat(61), 'a\nb', 'a\u0000'])(
  'refuses the key name %p',
  async (name) => {
    const error = await refusal(
      createKey(fixture.ctx, account.id, { name, permission: 'full_access' }),
    );
    expect([error.code, error.status]).toEqual(['validation_failed', 422]);
  },
);

test('accounts have a name of their own and a plan that exists', async () => {
  expect((await refusal(createAccount(fixture.ctx, { name: 'acme' }))).code).toBe('conflict');
  expect((await refusal(createAccount(fixture.ctx, { name: ' ' }))).code).toBe('validation_failed');
  expect((await refusal(createAccount(fixture.ctx, { name: account.id }))).code).toBe(
    'validation_failed',
  );
  const error = await refusal(createAccount(fixture.ctx, { name: 'b', plan: 'gold' }));
  expect(error.message).toContain('unlimited');
  expect((await refusal(setAccountStatus(fixture.ctx, 'nobody', 'paused'))).code).toBe('not_found');
});

test('a key has a name that can be seen and reads in its own order, at first and when it is renamed', async () => {
  const { key, token } = await make();
  const { ctx } = fixture;
  const issue = {
    path: 'name',
    message:
      'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.',
  };
  const input = { permission: 'sending_access' as const };
  for (const name of [
    '',
    ' ',
    ' \u00a0 ',
    'x'.repeat(61),
    'a\tb',
    'a\u0085b',
    'a\u202ab',
    'a\u202eb',
    'a\u2066b',
    'a\u2069b',
  ]) {
    expect((await refusal(createKey(ctx, account.id, { ...input, name }))).detail).toEqual({
      issues: [issue],
    });
    expect((await refusal(renameKey(ctx, account.id, key.id, name))).detail).toEqual({
      issues: [issue],
    });
  }
  for (const name of ['x', 'é'.repeat(60), '👩‍💻'.repeat(20), 'שלום\u200f!']) {
    await renameKey(ctx, account.id, key.id, name);
    expect((await ctx.store.keys(account.id))[0]?.name).toBe(name);
    expect((await authenticate(ctx, token))?.key.name).toBe(name);
  }
  expect(await ctx.store.keys(account.id)).toHaveLength(1);
});
