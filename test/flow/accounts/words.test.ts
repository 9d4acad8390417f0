/** Accounts, keys, plans and usage, compared whole: rows, refusals, lines of the log, and the answer of GET /usage. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { UNLIMITED } from '../../../src/base/config.ts';
import type { ApiError } from '../../../src/base/errors.ts';
import {
  accountNamed,
  changeAccount,
  createAccount,
  refuseInactive,
  setAccountStatus,
} from '../../../src/flow/accounts/accounts.ts';
import { createKey, invalidKey, renameKey, revokeKey } from '../../../src/flow/accounts/keys.ts';
import { badName, isName } from '../../../src/flow/accounts/names.ts';
import { OVERAGE_BLOCK, planOf, rateOwner } from '../../../src/flow/accounts/plans.ts';
import { dayOf, overQuota, overStorage, usageOf } from '../../../src/flow/accounts/usage.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { Account, Key } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const NO_NAME =
  'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture({
    toml: '[[plans]]\nid = "gold"\nmax_domains = 7\nincluded_emails = 2000\noverage_sen_per_thousand = 400\noverage_cap_sen = 900\ndaily_limit = 1000\nlog_retention_days = 9\nrate_per_second = 3\nstorage_bytes = 5000\n',
  });
});
afterEach(() => fixture.close());

const seen = ({ code, status, errorName, message, detail, headers }: ApiError): unknown => ({
  code,
  status,
  errorName,
  message,
  detail,
  headers,
});
const lines = (): unknown[] => fixture.logged.map(({ time: _time, ...line }) => line);

test('the row of an account, at first and after each change, with its lines of the log', async () => {
  const { ctx, clock } = fixture;
  clock.jump(5_000);
  const made = await createAccount(ctx, { name: ' acme ' });
  const row: Account = {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: 'acme',
    plan: 'unlimited',
    status: 'active',
    statusReason: null,
    createdAt: clock.now(),
  };
  expect(made).toEqual(row);
  expect((await createAccount(ctx, { name: 'other', plan: 'gold' })).plan).toBe('gold');
  expect(await changeAccount(ctx, made.id, { name: ' Acme Inc ', plan: 'gold' })).toEqual({
    name: 'Acme Inc',
    plan: 'gold',
  });
  const changed = { ...made, name: 'Acme Inc', plan: 'gold' };
  expect(await accountNamed(ctx, made.id)).toEqual(changed);
  const paused = await setAccountStatus(ctx, 'Acme Inc', 'paused', 'Bounces.');
  expect(paused).toEqual({ ...changed, status: 'paused', statusReason: 'Bounces.' });
  expect(await accountNamed(ctx, 'Acme Inc')).toEqual(paused);
  await setAccountStatus(ctx, made.id, 'payment_required');
  await setAccountStatus(ctx, made.id, 'active', 'Paid.');
  expect(await accountNamed(ctx, made.id)).toEqual(changed);
  const status = { level: 'info', event: 'account_status', account: 'Acme Inc' };
  expect(lines()).toEqual([
    { level: 'info', event: 'account_changed', account: 'Acme Inc', plan: 'gold' },
    { ...status, status: 'paused', reason: 'Bounces.' },
    { ...status, status: 'payment_required', reason: null },
    { ...status, status: 'active', reason: null },
  ]);
});

test('why an account is not made or changed', async () => {
  const { ctx } = fixture;
  const { id } = await createAccount(ctx, { name: 'acme' });
  await createAccount(ctx, { name: 'other' });
  const nobody = '01913c7e-89ab-7cde-8f01-23456789abce';
  const invalid = (path: string, message: string): unknown =>
    expect.objectContaining({
      code: 'validation_failed',
      status: 422,
      detail: { issues: [{ path, message }] },
    });
  const simple = (code: string, status: number, message: string): unknown =>
    expect.objectContaining({ code, status, message });
  const plan = 'There is no plan "silver"; the config has: unlimited, gold.';
  const taken = 'There is an account named "other" already.';
  const asked: [ask: () => Promise<unknown>, expected: unknown][] = [
    [() => createAccount(ctx, { name: '' }), invalid('name', NO_NAME)],
    [
      () => createAccount(ctx, { name: nobody }),
      invalid('name', 'name must not look like the id of an account.'),
    ],
    [() => createAccount(ctx, { name: 'x', plan: 'silver' }), invalid('plan', plan)],
    [() => createAccount(ctx, { name: ' other ' }), simple('conflict', 409, taken)],
    [() => changeAccount(ctx, id, { name: 'acme', plan: 'silver' }), invalid('plan', plan)],
    [() => changeAccount(ctx, id, { name: 'a\tb', plan: 'gold' }), invalid('name', NO_NAME)],
    [() => changeAccount(ctx, id, { name: 'other', plan: 'gold' }), simple('conflict', 409, taken)],
    [
      () => changeAccount(ctx, nobody, { name: 'x', plan: 'gold' }),
      simple('not_found', 404, `There is no account "${nobody}".`),
    ],
    [() => accountNamed(ctx, 'x'), simple('not_found', 404, 'There is no account "x".')],
    [
      () => setAccountStatus(ctx, 'x', 'paused'),
      simple('not_found', 404, 'There is no account "x".'),
    ],
  ];
  for (const [ask, expected] of asked) expect(seen(await refusal(ask()))).toEqual(expected);
  expect(seen(badName())).toMatchObject({
    code: 'validation_failed',
    detail: { issues: [{ path: 'name', message: NO_NAME }] },
  });
  expect(lines()).toEqual([]);
});

test('what makes a name', () => {
  const good = ['x', '😀'.repeat(60), ' x ', 'é\u200f', '\u202fx'];
  const bad = ['', ' ', '\u00a0', 'x'.repeat(61), 'a\nb', 'a\u0000', 'a\u007f', 'a\u009f'];
  for (const at of [0x202a, 0x202c, 0x202e, 0x2066, 0x2069])
    bad.push(`a${String.fromCharCode(at)}b`);
  expect([good.filter((one) => !isName(one)), bad.filter((one) => isName(one))]).toEqual([[], []]);
});

test('an account that may not send is told why, with and without a reason', async () => {
  const account = await createAccount(fixture.ctx, { name: 'acme' });
  const said: unknown[] = [];
  for (const status of ['paused', 'payment_required'] as const) {
    for (const statusReason of [null, 'Ask us.']) {
      const asked = Promise.resolve().then(() =>
        refuseInactive({ ...account, status, statusReason }),
      );
      const { code, status: http, message } = await refusal(asked);
      said.push([code, http, message]);
    }
  }
  expect(said).toEqual([
    ['account_paused', 403, 'This account is paused.'],
    ['account_paused', 403, 'This account is paused. Ask us.'],
    ['payment_required', 402, 'This account cannot send until it is paid.'],
    ['payment_required', 402, 'This account cannot send until it is paid. Ask us.'],
  ]);
});

test('the row of a key, its renaming and its end, and what is said of a hundred and of none', async () => {
  const { ctx, clock } = fixture;
  const { id: accountId } = await createAccount(ctx, { name: 'acme' });
  clock.jump(5_000);
  const input = { name: 'ci', permission: 'sending_access' } as const;
  const { key, token } = await createKey(ctx, accountId, { ...input, isTest: true });
  const row: Key = {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    accountId,
    ...input,
    isTest: true,
    prefix: token.slice(0, 12),
    last4: token.slice(-4),
    lastUsedAt: null,
    revokedAt: null,
    createdAt: clock.now(),
  };
  expect(key).toEqual(row);
  expect((await createKey(ctx, accountId, input)).key.isTest).toBe(false);
  await renameKey(ctx, accountId, key.id, 'new');
  clock.jump(1_000);
  await revokeKey(ctx, accountId, key.id);
  const stored = (await ctx.store.keys(accountId)).find(({ id }) => id === key.id);
  expect(stored).toEqual({ ...key, name: 'new', revokedAt: clock.now() });
  const most: number[] = [];
  const store: Context['store'] = {
    ...ctx.store,
    async createKey(_key, _hash, max) {
      most.push(max);
      return 'too_many';
    },
  };
  const words = (kind: string): string =>
    `An account has at most 100 ${kind} keys that are not revoked. Revoke one first.`;
  for (const [isTest, kind] of [
    [true, 'sandbox'],
    [false, 'live'],
  ] as const) {
    const full = await refusal(createKey({ ...ctx, store }, accountId, { ...input, isTest }));
    expect([full.code, full.status, full.message]).toEqual(['forbidden', 403, words(kind)]);
  }
  expect(most).toEqual([100, 100]);
  for (const gone of [
    () => renameKey(ctx, accountId, accountId, 'x'),
    () => revokeKey(ctx, accountId, accountId),
  ]) {
    const { code, message } = await refusal(gone());
    expect([code, message]).toEqual(['not_found', 'There is no such API key.']);
  }
  const refused = invalidKey({ 'WWW-Authenticate': 'Bearer' });
  expect([refused.code, refused.status, refused.message, refused.headers]).toEqual([
    'unauthorized',
    401,
    'The API key is invalid or has been revoked.',
    { 'WWW-Authenticate': 'Bearer' },
  ]);
  expect(invalidKey().headers).toEqual({});
});

test('the refusals of a quota, whole', () => {
  const now = Date.UTC(2026, 1, 28, 22, 59, 59, 1);
  const beyond = (which: string, rest: string): string =>
    `This request goes beyond the ${which} limit of 5 emails; ${rest} until 2026-03-01T00:00:00.000Z.`;
  for (const which of ['daily', 'monthly'] as const) {
    expect(seen(overQuota(which, 5, 2, now))).toEqual({
      code: 'quota_exceeded',
      status: 429,
      errorName: `${which}_quota_exceeded`,
      message: beyond(which, '3 are left'),
      detail: { period: which, limit: 5, used: 2 },
      headers: { 'Retry-After': '3601' },
    });
  }
  expect(overQuota('daily', 5, 4, now).message).toBe(beyond('daily', '1 is left'));
  // The day and the month after, over the end of a year too.
  const eve = Date.UTC(2026, 11, 30, 12);
  expect([
    overQuota('daily', 1, 1, eve).headers['Retry-After'],
    overQuota('monthly', 1, 1, eve).headers['Retry-After'],
  ]).toEqual(['43200', '129600']);
  expect(seen(overStorage(100, 90))).toEqual({
    code: 'quota_exceeded',
    status: 429,
    errorName: 'monthly_quota_exceeded',
    message:
      'This account keeps 90 of at most 100 bytes of content, and this request goes beyond. Content is deleted when its retention ends.',
    detail: { period: 'storage', limit: 100, used: 90 },
    headers: { 'Retry-After': '3600' },
  });
  expect([dayOf(now), OVERAGE_BLOCK]).toEqual(['2026-02-28', 1_000]);
});

test('the answer of GET /usage, whole, for a plan and without one', async () => {
  const { ctx, clock } = fixture;
  const sender = await fixture.sender({ plan: 'gold' });
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft({ to: [mailbox('a@x.example'), mailbox('b@x.example')] }));
  const none = {
    queued: 1,
    sent: 0,
    delivered: 0,
    delivery_delayed: 0,
    bounced: 0,
    complained: 0,
    failed: 0,
    suppressed: 0,
  };
  const used = (count: number) => {
    const store = { ...ctx.store, usedInMonth: async () => count };
    return usageOf({ ...ctx, store }, sender.account).then(({ usage }) => usage);
  };
  expect(await usageOf(ctx, sender.account)).toEqual({
    period: '2026-01',
    periodDays: 30,
    plan: {
      id: 'gold',
      includedEmails: 2_000,
      overageSenPerThousand: 400,
      maxDomains: 7,
      dailyLimit: 1_000,
      logRetentionDays: 9,
      ratePerSecond: 3,
    },
    usage: {
      usedThisMonth: 2,
      includedEmails: 2_000,
      overage: 0,
      overageBlocks: 0,
      overageChargedSen: 0,
      overageCapSen: 900,
      percent: 0.1,
    },
    storage: { usedBytes: 6, limitBytes: 5_000 },
    counts: none,
  });
  const charged = async (count: number): Promise<unknown> => {
    const { overage, overageBlocks, overageChargedSen, percent } = await used(count);
    return [overage, overageBlocks, overageChargedSen, percent];
  };
  expect(await Promise.all([2_000, 2_001, 3_000, 3_001, 4_001].map(charged))).toEqual([
    [0, 0, 0, 100],
    [1, 1, 400, 100.05],
    [1_000, 1, 400, 150],
    [1_001, 2, 800, 150.05],
    [2_001, 3, 900, 200.05],
  ]);
  const since: unknown[] = [];
  const store: Context['store'] = {
    ...ctx.store,
    async countsByStatus(...args) {
      since.push(['live', ...args]);
      return none;
    },
    async sandboxCountsByStatus(...args) {
      since.push(['sandbox', ...args]);
      return none;
    },
  };
  const free = { ...sender.account, plan: 'unlimited' };
  const { usage } = await usageOf({ ...ctx, store }, free);
  expect(usage).toEqual({
    usedThisMonth: 2,
    includedEmails: null,
    overage: 0,
    overageBlocks: 0,
    overageChargedSen: 0,
    overageCapSen: null,
    percent: 0,
  });
  await usageOf({ ...ctx, store }, free, true);
  const from = clock.now() - 30 * DAY_MS;
  expect(since).toEqual([
    ['live', free.id, from],
    ['sandbox', free.id, from],
  ]);
});

test('a plan that is gone is the one for all, as the config has it, and rates are by account and kind', () => {
  const own = { ...UNLIMITED, maxDomains: 3 };
  expect(planOf(new Map([['unlimited', own]]), { plan: 'gone' })).toBe(own);
  expect(planOf(new Map(), { plan: 'gone' })).toBe(UNLIMITED);
  expect([
    rateOwner({ isTest: false }, { id: 'a' }),
    rateOwner({ isTest: true }, { id: 'a' }),
  ]).toEqual(['a', 'a sandbox']);
});
