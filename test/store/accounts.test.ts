/** Accounts, keys, domains, settings, confirmed recipients, logs: what is unique, what belongs to whom. */
import { describe, expect } from 'bun:test';

import { OutdatedError } from '../../src/store/revision.ts';
import { batchOf, newAccount, newDomain, newKey, newLogRecord, newMessage } from './samples.ts';
import { eachStore } from './stores.ts';

const NOBODY = { accountIds: [], last: null };

describe('accounts', () => {
  eachStore('have one name each and are found by name or id', async (store, account) => {
    expect(await store.createAccount(newAccount('default'))).toBe('exists');
    expect(await store.account('default')).toEqual(account);
    expect(await store.account(account.id)).toEqual(account);
    expect(await store.account('nobody')).toBeNull();
    expect(await store.setAccountStatus(account.id, 'paused', 'unpaid')).toBe(true);
    expect(await store.setAccountStatus('nobody', 'paused', null)).toBe(false);
    const [only] = await store.accounts();
    expect(only).toMatchObject({ status: 'paused', statusReason: 'unpaid' });
  });

  eachStore('change name and plan, but take no name of another', async (store, account) => {
    await store.createAccount(newAccount('other'));
    const change = { name: 'renamed', plan: 'small' };
    expect(await store.changeAccount(account.id, { ...change, name: 'other' })).toBe('exists');
    expect(await store.changeAccount('nobody', change)).toBe('absent');
    expect(await store.account(account.id)).toEqual(account);
    expect(await store.changeAccount(account.id, change)).toBe('changed');
    expect(await store.changeAccount(account.id, { ...change, plan: 'large' })).toBe('changed');
    expect(await store.account('renamed')).toEqual({
      ...account,
      name: 'renamed',
      plan: 'large',
    });
  });

  eachStore('list what they used by day', async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    for (const [id, day, count] of [
      [account.id, '2026-01-01', 1],
      [account.id, '2026-01-03', 2],
      [account.id, '2026-01-03', 3],
      [other.id, '2026-01-02', 9],
    ] as const) {
      const usage = { count, day, dailyLimit: null, monthlyLimit: null };
      const batch = { ...batchOf(id, newMessage(id)), usage };
      expect((await store.accept(batch)).kind).toBe('accepted');
    }
    expect(await store.usedByDay(account.id, '2026-01-01')).toEqual([
      { day: '2026-01-01', count: 1 },
      { day: '2026-01-03', count: 5 },
    ]);
    expect(await store.usedByDay(account.id, '2026-01-02')).toHaveLength(1);
  });
});

describe('keys', () => {
  eachStore('that are revoked leave their position to new ones', async (store, account) => {
    const hash = (n: number): Uint8Array => new Uint8Array(32).fill(n);
    const keys = [1, 2, 3, 4].map(() => newKey(account.id));
    const made: string[] = [];
    for (const [at, key] of keys.slice(0, 3).entries())
      made.push(await store.createKey(key, hash(at), 2));
    expect(made).toEqual(['created', 'created', 'too_many']);
    expect(await store.revokeKey(account.id, keys[0]?.id ?? '', 5)).toBe(true);
    for (const [at, key] of keys.slice(2).entries())
      made.push(await store.createKey(key, hash(7 + at), 2));
    expect(made.slice(3)).toEqual(['created', 'too_many']);
  });

  eachStore('are found by hash with their account, revoked ones too', async (store, account) => {
    const key = newKey(account.id);
    const hash = new Uint8Array(32).fill(7);
    await store.createKey(key, hash, 100);
    expect(await store.keyByHash(hash)).toEqual({ key, account });
    expect(await store.keyByHash(new Uint8Array(32))).toBeNull();
    expect(await store.revokeKey('another account', key.id, 5)).toBe(false);
    expect(await store.revokeKey(account.id, key.id, 5)).toBe(true);
    expect(await store.revokeKey(account.id, key.id, 9)).toBe(true);
    expect((await store.keyByHash(hash))?.key.revokedAt).toBe(5);
    expect(await store.renameKey(account.id, key.id, 'new')).toBe(true);
    await store.touchKeys([
      { id: key.id, usedAt: 20 },
      { id: key.id, usedAt: 10 },
    ]);
    expect(await store.keys(account.id)).toEqual([
      { ...key, name: 'new', revokedAt: 5, lastUsedAt: 20 },
    ]);
  });
});

describe('domains', () => {
  eachStore(
    'stand once in an account, also when asked for in parallel, and in as many as it may',
    async (store, account) => {
      const other = newAccount('other');
      await store.createAccount(other);
      const [a, b, c] = ['a.example', 'b.example', 'c.example'].map((name) =>
        newDomain(account.id, name),
      );
      if (a === undefined || b === undefined || c === undefined) throw new Error('three');
      const results = await Promise.all([
        store.createDomain(a, 2),
        store.createDomain(newDomain(account.id, a.name), 2),
        store.createDomain(b, 2),
        store.createDomain(c, 2),
        store.createDomain(newDomain(other.id, a.name), 2),
      ]);
      expect(results).toEqual(['created', 'exists', 'created', 'too_many', 'created']);
      expect(await store.domains(account.id)).toEqual([a, b]);
      // That it is there already is said first, also where there may be no more.
      expect(await store.createDomain(newDomain(account.id, b.name), 2)).toBe('exists');
      expect(await store.createDomain(c, 3)).toBe('created');
    },
  );

  eachStore(
    'that were deleted are gone, but still sign, and their name is free',
    async (store, account) => {
      const domain = newDomain(account.id, 'a.example');
      await store.createDomain(domain, 1);
      expect(await store.deleteDomain('another account', domain.id, 5)).toBe(false);
      expect(await store.deleteDomain(account.id, domain.id, 5)).toBe(true);
      expect(await store.domain(account.id, domain.id)).toBeNull();
      expect(await store.domainByName(account.id, 'a.example')).toBeNull();
      expect(await store.domainForSigning(domain.id)).toEqual({ ...domain, deletedAt: 5 });
      expect(await store.domainsDue(account.id, Date.now() + 1e9, 9)).toEqual([]);
      expect(await store.accountsToCheck(Date.now() + 1e9, null)).toEqual(NOBODY);
      const again = newDomain(account.id, 'a.example');
      expect(await store.createDomain(again, 1)).toBe('created');
      expect(await store.domainByName(account.id, 'a.example')).toEqual(again);
    },
  );

  eachStore('are checked when due', async (store, account) => {
    const domain = newDomain(account.id, 'a.example');
    await store.createDomain(domain, 9);
    const now = domain.createdAt;
    expect(await store.domainsDue(account.id, now - 1, 9)).toEqual([]);
    expect(await store.domainsDue(account.id, now, 9)).toEqual([domain.id]);
    const check = {
      status: 'verified',
      recordStates: { DKIM: 'verified', SPF: 'verified' },
      verifiedAt: now,
      nextCheckAt: null,
      failingSince: null,
      pendingSince: domain.pendingSince,
    } as const;
    await store.finishDomainCheck({ id: domain.id, now: now + 5, ...check });
    const checked = { ...domain, ...check, lastCheckedAt: now + 5 };
    expect(await store.domain(account.id, domain.id)).toEqual(checked);
    expect(await store.domainsDue(account.id, now + 1e9, 9)).toEqual([]);
    expect(await store.accountsToCheck(now + 1e9, null)).toEqual(NOBODY);
  });

  eachStore('keep what the last check saw, for their account', async (store, account) => {
    const domain = newDomain(account.id, 'a.example');
    await store.createDomain(domain, 9);
    expect(await store.seenRecords(account.id, domain.id)).toEqual({});
    const check = {
      id: domain.id,
      now: 5,
      status: 'pending',
      recordStates: domain.recordStates,
      verifiedAt: null,
      nextCheckAt: null,
      failingSince: null,
      pendingSince: 1,
    } as const;
    const seen = { SPF: { at: 'a.example', values: ['v=spf1 -all'], problem: 'not ours' } };
    await store.finishDomainCheck({ ...check, seen });
    // A check that saw nothing leaves what was seen before.
    await store.finishDomainCheck(check);
    expect(await store.seenRecords(account.id, domain.id)).toEqual(seen);
    expect(await store.seenRecords('another', domain.id)).toEqual({});
    await store.deleteDomain(account.id, domain.id, 6);
    expect(await store.seenRecords(account.id, domain.id)).toEqual({});
  });
});

eachStore('settings are set, replaced and unset', async (store) => {
  expect(await store.setting('halt')).toBeNull();
  await store.setSetting('halt', 'a');
  await store.setSetting('halt', 'b');
  expect(await store.setting('halt')).toBe('b');
  await store.setSetting('halt', null);
  expect(await store.setting('halt')).toBeNull();
});

eachStore('confirmed recipients belong to their account', async (store, account) => {
  const other = newAccount('other');
  await store.createAccount(other);
  expect(await store.addConfirmedRecipient(account.id, 'a@x.org', 5)).toBe(true);
  expect(await store.addConfirmedRecipient(account.id, 'a@x.org', 6)).toBe(false);
  expect(await store.confirmedRecipients(account.id, { limit: 9, after: '' })).toEqual([
    { email: 'a@x.org', createdAt: 5 },
  ]);
  const emails = ['a@x.org', 'b@x.org'];
  expect(await store.confirmed(account.id, emails)).toEqual(new Set(['a@x.org']));
  expect(await store.confirmed(other.id, emails)).toEqual(new Set());
  expect(await store.removeConfirmedRecipient(other.id, 'a@x.org')).toBe(false);
  expect(await store.removeConfirmedRecipient(account.id, 'a@x.org')).toBe(true);
});

eachStore(
  'logs are listed without bodies, newest first, and shown whole to their account alone',
  async (store, account) => {
    const records = Array.from({ length: 7 }, () => newLogRecord(account.id));
    await store.appendLogs(records.slice(0, 4));
    await store.appendLogs(records.slice(4));
    const newestFirst = records.toReversed();
    const filter = { limit: 3, after: null, before: null, q: null, status: null, method: null };
    const first = await store.logs(account.id, filter);
    expect(first.rows).toEqual(
      newestFirst.slice(0, 3).map(({ requestBody: _1, responseBody: _2, ...row }) => row),
    );
    expect(first.hasMore).toBe(true);
    const after = first.rows.at(-1)?.id ?? '';
    const second = await store.logs(account.id, { ...filter, limit: 9, after });
    expect(second.rows.map(({ id }) => id)).toEqual(newestFirst.slice(3).map(({ id }) => id));
    const [record] = records;
    expect(await store.log(account.id, record?.id ?? '')).toEqual(record ?? null);
    expect(await store.log('another account', record?.id ?? '')).toBeNull();
  },
);

eachStore(
  'what stands on an older revision is outdated, where a store has one',
  async (store, account) => {
    const before = await store.revision();
    const accept = (revision: number | null) =>
      store.accept({ ...batchOf(account.id, newMessage(account.id)), revision });
    expect((await accept(before)).kind).toBe('accepted');
    await store.setAccountStatus(account.id, 'paused', 'Why.');
    const after = await store.revision();
    if (before === null) expect(after).toBeNull();
    else
      expect(await accept(before).catch((error: unknown) => error)).toBeInstanceOf(OutdatedError);
    expect((await accept(after)).kind).toBe('accepted');
  },
);
