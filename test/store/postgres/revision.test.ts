/** The revision with two nodes on one database: what a change promises to have stopped when it has resolved. */
import { expect, spyOn, test } from 'bun:test';

import type { BeginAttempt } from '../../../src/store/journey.ts';
import type { Access } from '../../../src/store/postgres/database.ts';
import { raising } from '../../../src/store/postgres/revision.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { OutdatedError } from '../../../src/store/revision.ts';
import type { Account } from '../../../src/store/rows.ts';
import { StoreAwayError } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { testServer } from '../../rig/postgres.ts';
import {
  accepted,
  batchOf,
  newAccount,
  newDomain,
  newEndpoint,
  newKey,
  newMessage,
  recipientOf,
} from '../samples.ts';

interface Nodes {
  a: Store;
  b: Store;
  account: Account;
  url: string;
}

/** Runs `body` with two stores on one new database, and an account in it. */
async function withNodes(body: (nodes: Nodes) => Promise<void>): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const open = () => openPostgres({ url, passwordFile: '', now: Date.now() });
  const [a, b] = await Promise.all([open(), open()]);
  try {
    const account = newAccount('default');
    await a.createAccount(account);
    await body({ a, b, account, url });
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

const HALT = { isRemembered: true };

/** Accepts one message that stands on `revision`; `outdated` instead of the error. */
async function acceptAt(store: Store, { id }: Account, revision: number | null): Promise<string> {
  const batch = { ...batchOf(id, newMessage(id)), revision };
  return store.accept(batch).then(
    ({ kind }) => kind,
    (error: unknown) => {
      if (error instanceof OutdatedError) return 'outdated';
      throw error;
    },
  );
}

const messagesOf = async (store: Store, { id }: Account): Promise<number> =>
  (await store.countsByStatus(id, 0)).queued;

test('what stands on an older revision is not written, whatever was changed', () =>
  withNodes(async ({ a, b, account }) => {
    const key = newKey(account.id);
    await a.createKey(key, Buffer.from('hash'), 10);
    const domain = newDomain(account.id, 'acme.example');
    await a.createDomain(domain, 10);
    const checked = { ...domain, now: 1, recordStates: {}, pendingSince: 1 };
    const changes: [name: string, change: () => Promise<unknown>, isRemembered: boolean][] = [
      ['halt', () => a.setSetting('halt', '{}', HALT), true],
      ['resume', () => a.setSetting('halt', null, HALT), true],
      ['status', () => a.setAccountStatus(account.id, 'paused', 'Why.'), true],
      ['plan', () => a.changeAccount(account.id, { name: 'default', plan: 'small' }), true],
      ['domain', () => a.finishDomainCheck({ ...checked, status: 'failed' }), true],
      ['same domain', () => a.finishDomainCheck({ ...checked, status: 'failed' }), false],
      ['no domain', () => a.deleteDomain(newAccount('x').id, domain.id, 1), false],
      ['domain gone', () => a.deleteDomain(account.id, domain.id, 1), true],
      ['name of a key', () => a.renameKey(account.id, key.id, 'other'), false],
      ['key', () => a.revokeKey(account.id, key.id, 1), true],
      ['other setting', () => a.setSetting('other', '1'), false],
      ['endpoint', () => a.createEndpoint(newEndpoint(account.id), 10), false],
      ['account', () => a.closeAccount(account.id, 'Gone.'), true],
    ];
    const outcomes: [string, string][] = [];
    for (const [name, change] of changes) {
      const before = await b.revision();
      await change();
      outcomes.push([name, await acceptAt(b, account, before)]);
      expect(await acceptAt(b, account, await b.revision())).toBe('accepted');
    }
    expect(outcomes).toEqual(
      changes.map(([name, , isRemembered]) => [name, isRemembered ? 'outdated' : 'accepted']),
    );
    const kept = outcomes.filter(([, outcome]) => outcome === 'accepted').length;
    expect(await messagesOf(a, account)).toBe(kept + changes.length);
  }));

test('of one group only what is outdated is refused', () =>
  withNodes(async ({ a, b, account }) => {
    const before = await b.revision();
    await a.setSetting('halt', '{}', HALT);
    const now = await b.revision();
    const asked = [before, now, null, before, now, null, now];
    const outcomes = await Promise.all(asked.map((revision) => acceptAt(b, account, revision)));
    expect(outcomes).toEqual(
      asked.map((revision) => (revision === before ? 'outdated' : 'accepted')),
    );
    // Nobody in the group knows the newest one.
    await a.setSetting('halt', null, HALT);
    const again = await Promise.all([now, null, now].map((one) => acceptAt(b, account, one)));
    expect(again).toEqual(['outdated', 'accepted', 'outdated']);
    expect(await messagesOf(a, account)).toBe(6);
  }));

test('with limits and idempotency keys, what is outdated spends nothing', () =>
  withNodes(async ({ a, b, account }) => {
    const before = await b.revision();
    await a.setSetting('halt', '{}', HALT);
    const day = '2026-01-15';
    const usage = { count: 1, day, dailyLimit: 5, monthlyLimit: null };
    const idempotency = {
      key: 'k',
      route: 'POST /emails',
      bodyHash: 'h',
      status: 200,
      response: '{}',
      createdAt: Date.now(),
      expiresAt: Date.now() + 60_000,
    };
    const batch = { ...batchOf(account.id, newMessage(account.id)), usage, idempotency };
    const outdated = await b
      .accept({ ...batch, revision: before })
      .catch((error: unknown) => error);
    expect(outdated).toEqual(new OutdatedError('the revision was raised'));
    expect(outdated).toBeInstanceOf(OutdatedError);
    expect(await b.usedOnDay(account.id, day)).toBe(0);
    const result = await b.accept({ ...batch, revision: await b.revision() });
    expect(result.kind).toBe('accepted');
  }));

test('no attempt is begun that stands on an older revision', () =>
  withNodes(async ({ a, b, account }) => {
    const message = await accepted(a, newMessage(account.id));
    const now = Date.now();
    const attempt: BeginAttempt = {
      recipientId: recipientOf(message).id,
      owner: 'b',
      leaseUntil: now + 60_000,
      nextAttemptAt: now + 15_000,
    };
    const before = await b.revision();
    await a.setSetting('halt', '{}', HALT);
    const outdated = await b.begin([attempt], now, before).catch((error: unknown) => error);
    expect(outdated).toBeInstanceOf(OutdatedError);
    expect(await b.begin([attempt], now, await b.revision())).toHaveLength(1);
  }));

test(
  '1,000 changes under load: when one has resolved, nothing older is committed any more',
  () =>
    withNodes(async ({ a, b, account }) => {
      const counted = async (): Promise<number> => messagesOf(a, account);
      let outdated = 0;
      for (let round = 0; round < 1_000; round += 1) {
        const revision = await b.revision();
        const sends: Promise<string>[] = [];
        const over = new AbortController();
        const sending = (async () => {
          while (!over.signal.aborted) {
            sends.push(acceptAt(b, account, revision), acceptAt(b, account, revision));
            await sends.at(-1);
          }
        })();
        await Promise.race(sends);
        await a.setSetting('halt', round % 2 === 0 ? '{}' : null, HALT);
        const atReturn = await counted();
        over.abort();
        await sending;
        const outcomes = await Promise.all(sends);
        outdated += outcomes.filter((outcome) => outcome === 'outdated').length;
        expect(await counted()).toBe(atReturn);
      }
      // The load was there when the change came.
      expect(outdated).toBeGreaterThan(500);
    }),
  120_000,
);

test('a change waits for a transaction from before it, and delays no other', () =>
  withNodes(async ({ a, b, account, url }) => {
    const revision = await b.revision();
    const frozen = (await testServer()).admin(new URL(url).pathname.slice(1));
    await frozen.unsafe('BEGIN');
    await frozen.unsafe('SELECT require_revision($1)', [revision]);
    let isDone = false;
    const change = a.setSetting('halt', '{}', HALT).then(() => (isDone = true));
    while ((await b.revision()) === revision) await Bun.sleep(1);
    // Committed, and in force for all that begin now.
    expect(await acceptAt(b, account, revision)).toBe('outdated');
    expect(await acceptAt(b, account, await b.revision())).toBe('accepted');
    expect(isDone).toBe(false);
    await frozen.unsafe('COMMIT');
    await change;
    await frozen.close();
  }));

test('a change waits 45 s for what does not end, more and more seldom, and for nothing that came later', async () => {
  let now = 0;
  const pauses: number[] = [];
  const time = spyOn(performance, 'now').mockImplementation(() => now);
  const timer = spyOn(globalThis, 'setTimeout').mockImplementation(((
    work: () => void,
    ms: number,
  ) => {
    pauses.push(ms);
    now += ms;
    work();
  }) as never);
  const asks = (...holders: string[][]): Promise<unknown> => {
    const access = {
      transaction: (work: (session: unknown) => unknown) => work({ send() {} }),
      all: async () =>
        (holders.length > 1 ? holders.shift() : holders[0])?.map((holder) => ({ holder })),
    };
    return raising(access as unknown as Access, () => Promise.resolve('changed')).catch(
      (error: unknown) => error,
    );
  };
  const answers = [await asks([]), await asks(['1'], ['1', '2'], ['2'])];
  const short = pauses.splice(0);
  const beganAt = now;
  const given = await asks(['1', '2'], ['2', '3']);
  time.mockRestore();
  timer.mockRestore();
  expect([answers, short]).toEqual([
    ['changed', 'changed'],
    [1, 2],
  ]);
  expect(given).toEqual(new StoreAwayError('a transaction from before the change does not end'));
  expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 50, 50]);
  expect(now - beganAt).toBeGreaterThan(45_000);
  expect(now - beganAt).toBeLessThanOrEqual(45_050);
});
