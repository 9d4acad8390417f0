/** Keys and accounts against a real store: found by their text, refused the moment they are revoked. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, setAccountStatus } from '../../src/flow/accounts.ts';
import {
  authenticate,
  createKey,
  flushKeyUses,
  renameKey,
  revokeKey,
} from '../../src/flow/keys.ts';
import type { Account } from '../../src/store/rows.ts';
import { openHouse, refusal, type House } from './house.ts';

let house: House;
let account: Account;

beforeEach(async () => {
  house = await openHouse();
  account = await createAccount(house.ctx, { name: 'acme' });
});
afterEach(() => house.close());

const make = (isTest = false) =>
  createKey(house.ctx, account.id, { name: 'k', permission: 'sending_access', isTest });

test('a key shows its kind, its first twelve and last four characters, and is never stored', async () => {
  const { key, token } = await make();
  expect(token).toMatch(/^pr_live_[A-Za-z0-9]{36}$/);
  expect((await make(true)).token).toStartWith('pr_test_');
  expect([key.prefix, key.last4]).toEqual([token.slice(0, 12), token.slice(-4)]);
  await authenticate(house.ctx, token);
  await flushKeyUses(house.ctx);
  const secret = token.slice(12, -4);
  const files = readdirSync(house.dir).map((file) => readFileSync(join(house.dir, file), 'latin1'));
  expect(files.some((bytes) => bytes.includes(key.id))).toBe(true);
  expect(files.some((bytes) => bytes.includes(secret))).toBe(false);
});

test('the letters of keys are equally likely', async () => {
  const counts = new Map<string, number>();
  for (let n = 0; n < 300; n += 1) {
    for (const letter of (await make()).token.slice(8)) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  expect(counts.size).toBe(62);
  // 10,800 letters, 174 each on average with a deviation of 13: seven deviations never happen by chance.
  for (const count of counts.values()) expect(Math.abs(count - 174)).toBeLessThan(92);
});

test('finds the account and plan of a key, and nobody for anything else', async () => {
  const { key, token } = await make();
  expect(await authenticate(house.ctx, token)).toMatchObject({
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
    expect(await authenticate(house.ctx, wrong)).toBeNull();
  }
});

test('a revoked key is nobody at once, also while it is being looked up', async () => {
  const { key, token } = await make();
  expect(await authenticate(house.ctx, token)).not.toBeNull();
  const [, ...during] = await Promise.all([
    revokeKey(house.ctx, account.id, key.id),
    ...Array.from({ length: 20 }, () => authenticate(house.ctx, token)),
  ]);
  expect(during).toHaveLength(20);
  expect(await authenticate(house.ctx, token)).toBeNull();
  await revokeKey(house.ctx, account.id, key.id);
  const other = await createAccount(house.ctx, { name: 'other' });
  const { key: alive } = await make();
  expect((await refusal(revokeKey(house.ctx, other.id, alive.id))).code).toBe('not_found');
  expect((await refusal(renameKey(house.ctx, other.id, alive.id, 'x'))).code).toBe('not_found');
});

test('a paused account shows in the next authentication', async () => {
  const { token } = await make();
  await authenticate(house.ctx, token);
  await setAccountStatus(house.ctx, 'acme', 'paused', 'Too many bounces.');
  expect((await authenticate(house.ctx, token))?.account).toMatchObject({
    status: 'paused',
    statusReason: 'Too many bounces.',
  });
  await setAccountStatus(house.ctx, account.id, 'active', 'ignored');
  expect((await authenticate(house.ctx, token))?.account).toMatchObject({
    status: 'active',
    statusReason: null,
  });
});

test('the last use is written in batches, the newest time of each key', async () => {
  const { key, token } = await make();
  const before = house.clock.now();
  await authenticate(house.ctx, token);
  await house.clock.advance(4_000);
  await authenticate(house.ctx, token);
  expect((await house.ctx.store.keys(account.id))[0]?.lastUsedAt).toBeNull();
  await house.clock.advance(7_000);
  await flushKeyUses(house.ctx);
  expect((await house.ctx.store.keys(account.id))[0]).toMatchObject({
    id: key.id,
    lastUsedAt: before + 4_000,
  });
});

test.each(['', ' '.repeat(61), 'a'.repeat(61), 'a\nb', 'a\u0000'])(
  'refuses the key name %p',
  async (name) => {
    const error = await refusal(
      createKey(house.ctx, account.id, { name, permission: 'full_access' }),
    );
    expect([error.code, error.status]).toEqual(['validation_failed', 422]);
  },
);

test('accounts have a name of their own and a plan that exists', async () => {
  expect((await refusal(createAccount(house.ctx, { name: 'acme' }))).code).toBe('conflict');
  expect((await refusal(createAccount(house.ctx, { name: ' ' }))).code).toBe('validation_failed');
  expect((await refusal(createAccount(house.ctx, { name: account.id }))).code).toBe(
    'validation_failed',
  );
  const error = await refusal(createAccount(house.ctx, { name: 'b', plan: 'gold' }));
  expect(error.message).toContain('unlimited');
  expect((await refusal(setAccountStatus(house.ctx, 'nobody', 'paused'))).code).toBe('not_found');
});
